#include "quantizers/awq/group.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "quantizers/awq/device/rounding_by_kernel.hpp"
#include "quantizers/gram/selection.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kColumnGrain = 64;

// Adds w * |x| per column in the order of rows, so that neither calls nor threads change a bit.
template <typename T>
void add_magnitudes(const at::Tensor& rows, const std::vector<double>& roots,
                    std::span<double> sums) {
  const T* values = rows.const_data_ptr<T>();
  const int64_t columns = rows.size(1);
  kit::parallel_for(sums.size(), kColumnGrain, [&](uint64_t begin, uint64_t end) {
    for (int64_t r = 0; r < rows.size(0); ++r) {
      const auto row = static_cast<size_t>(r);
      const double weight = roots.empty() ? 1 : roots[row] * roots[row];
      for (uint64_t c = begin; c < end; ++c) {
        sums[c] +=
            weight * std::fabs(static_cast<double>(values[r * columns + static_cast<int64_t>(c)]));
      }
    }
  });
}

}  // namespace

void AwqGroup::observe(const quench_observe_args& args) {
  GramGroup::observe(args);
  const c10::InferenceMode inference;
  const at::Tensor x = kit::borrow(*args.x);
  const Selection selection = select(args, x.size(0));
  const at::Tensor counted = selected(x, selection);
  const bool wide = counted.scalar_type() == at::kDouble;
  const at::Tensor rows = wide ? counted.contiguous() : counted.to(at::kFloat).contiguous();
  const std::span<double> sums(sums_.data_ptr<double>(), static_cast<size_t>(sums_.numel()));
  if (!matrix::on_host(rows)) {
    add_magnitudes_by_kernel(rows, selection.roots, sums_);
  } else if (wide) {
    add_magnitudes<double>(rows, selection.roots, sums);
  } else {
    add_magnitudes<float>(rows, selection.roots, sums);
  }
}

std::vector<double> AwqGroup::input_magnitudes() {
  const double rows = gram().rows();
  const at::Tensor sums = sums_.to(at::kCPU);
  const double* first = sums.const_data_ptr<double>();
  std::vector<double> means(first, first + sums.numel());
  if (std::all_of(means.begin(), means.end(), [](double sum) { return sum == 0; })) {
    const at::Tensor diagonal = gram().matrix().diagonal().to(at::kCPU).contiguous();
    for (size_t c = 0; c < means.size(); ++c) {
      means[c] = std::sqrt(diagonal.const_data_ptr<double>()[c] / rows);
    }
    return means;
  }
  for (double& mean : means) {
    mean /= rows;
  }
  return means;
}

const FoundScale* AwqGroup::found(const void* owner) const {
  const auto at = found_.find(owner);
  return at == found_.end() ? nullptr : &at->second;
}

}  // namespace quench::quantizers
