#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <span>
#include <type_traits>

#include "quantizers/grid/coded.hpp"
#include "quantizers/inputs/device/entries.hpp"
#include "quantizers/inputs/rounding.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

// float64 [parts, 2], or [1, 2], that of all.
template <typename T>
at::Tensor ranges_of(const at::Tensor& rows, const RowParts& parts, bool of_all) {
  const at::Tensor ranges = at::empty({parts.count(), 2}, rows.options().dtype(at::kDouble));
  const InputRanges<T> kernel{rows.const_data_ptr<T>(), parts,
                              reinterpret_cast<Range*>(ranges.data_ptr<double>())};
  cuda::run_kernel(std::is_same_v<T, double> ? kInputRangesDouble : kInputRangesFloat, kernel,
                   rows.device());
  if (!of_all) {
    return ranges;
  }
  const at::Tensor least = ranges.select(1, 0).amin(0, true);
  return at::cat({least, ranges.select(1, 1).amax(0, true)}).view({1, 2});
}

}  // namespace

template <typename T>
bool InputRounding::round_by_kernel(const at::Tensor& rows) const {
  const at::Tensor kept = kept_.empty() ? at::Tensor() : beside<uint8_t>(rows, kept_);
  RowParts parts{rows.size(0), columns_, share_,
                 kept.defined() ? kept.const_data_ptr<uint8_t>() : nullptr};
  const std::span<const double> ends(reinterpret_cast<const double*>(calibrated_.data()),
                                     2 * calibrated_.size());
  const at::Tensor ranges = calibrated_.empty()
                                ? ranges_of<T>(rows, parts, settings_.activation_per == "tensor")
                                : beside<double>(rows, ends).view({-1, 2});
  const bool one = ranges.size(0) == 1;
  parts.size = format_->block() > 1 ? format_->block() : share_;
  const at::Tensor refused = at::zeros({1}, rows.options().dtype(at::kInt));
  const RoundInputs<T> kernel{rows.data_ptr<T>(),
                              parts,
                              format_->rule(),
                              reinterpret_cast<const Range*>(ranges.const_data_ptr<double>()),
                              share_,
                              one || !calibrated_.empty() ? 0 : columns_ / share_,
                              one ? 0 : 1,
                              refused.data_ptr<int32_t>()};
  cuda::run_kernel(std::is_same_v<T, double> ? kRoundInputsDouble : kRoundInputsFloat, kernel,
                   rows.device());
  return refused.item<int32_t>() == 0;
}

bool InputRounding::round_there(const at::Tensor& rows) const {
  if (rows.size(0) == 0) {
    return true;
  }
  return rows.scalar_type() == at::kDouble ? round_by_kernel<double>(rows)
                                           : round_by_kernel<float>(rows);
}

}  // namespace quench::quantizers
