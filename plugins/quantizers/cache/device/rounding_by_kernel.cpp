#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "quantizers/cache/cache_rounding.hpp"
#include "quantizers/cache/device/entries.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/rotated/device/multiply_by_kernel.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

// Of values [tokens, heads, width], C order, those of `runs` one after the other.
template <typename T>
bool CacheRounding::round_by_kernel(const at::Tensor& values, const std::vector<Run>& runs,
                                    const Part& part) const {
  std::vector<int64_t> groups;  // of TokenGroup
  int64_t first = 0;
  for (const Run& run : runs) {
    for (int64_t left = run.count; left > 0 && part.by_channel; left -= settings_.group_size) {
      groups.insert(groups.end(), {first, std::min(left, settings_.group_size)});
      first += groups.back();
    }
  }
  const int64_t channels = values.size(1) * values.size(2);
  const at::Tensor tokens = beside<int64_t>(values, groups);
  const at::Tensor refused = at::zeros({1}, values.options().dtype(at::kInt));
  const RoundCached<T> rule{
      values.data_ptr<T>(),
      part.by_channel ? reinterpret_cast<const TokenGroup*>(tokens.const_data_ptr<int64_t>())
                      : nullptr,
      settings_.group_size,
      channels,
      range(),
      format_->rule(),
      refused.data_ptr<int32_t>()};
  const cuda::ForEach<RoundCached<T>> kernel{
      rule, part.by_channel ? static_cast<int64_t>(groups.size() / 2) * channels
                            : values.numel() / settings_.group_size};
  cuda::run_kernel(std::is_same_v<T, double> ? kRoundCachedDouble : kRoundCachedFloat, kernel,
                   values.device());
  return refused.item<int32_t>() == 0;
}

bool CacheRounding::round_there(const at::Tensor& x, const std::vector<Run>& runs,
                                const Part& part) const {
  std::vector<int64_t> tokens;
  for (const Run& run : runs) {
    for (int64_t t = 0; t < run.count; ++t) {
      tokens.push_back(run.first + t);
    }
  }
  if (tokens.empty()) {
    return true;
  }
  const bool all = static_cast<int64_t>(tokens.size()) == x.size(0);  // no padding
  const at::Tensor places = beside<int64_t>(x, tokens);
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  // Between rotation and rounding nothing is rounded to the model's type.
  const at::Tensor own = at::empty({static_cast<int64_t>(tokens.size()), x.size(1), x.size(2)},
                                   x.options().dtype(part.rotates ? at::kDouble : type));
  own.copy_(all ? x : x.index_select(0, places));
  const at::Tensor rows = own.view({-1, x.size(2)});
  const auto rotate = [&](bool back) {
    return !part.rotates || multiply_by_kernel(hadamard::Hadamard(x.size(2)), rows, back);
  };
  const auto round = [&] {
    return format_ == nullptr ||
           (own.scalar_type() == at::kDouble ? round_by_kernel<double>(own, runs, part)
                                             : round_by_kernel<float>(own, runs, part));
  };
  if (!rotate(false) || !round() || !rotate(true)) {
    return false;
  }
  const at::Tensor made = own.to(type).to(x.scalar_type());
  if (all) {
    x.copy_(made);
  } else {
    x.index_copy_(0, places, made);
  }
  return true;
}

}  // namespace quench::quantizers
