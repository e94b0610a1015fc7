#include "quantizers/awq/device/rounding_by_kernel.hpp"

#include <ATen/ops/empty.h>

#include "quantizers/awq/device/entries.hpp"
#include "quantizers/number_format/scale_rule.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
T* pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<T>() : nullptr;
}

template <typename T>
void add_magnitudes(const at::Tensor& rows, const at::Tensor& weights, const at::Tensor& sums,
                    const char* entry) {
  const AddMagnitudes<T> kernel{rows.const_data_ptr<T>(), rows.size(0), rows.size(1),
                                pointer<double>(weights), sums.data_ptr<double>()};
  cuda::run_kernel(entry, kernel, rows.device());
}

template <typename T>
void add_relative(const ScaledWeight& weight, const at::Tensor& largest, double floor,
                  const at::Tensor& sums, const char* entry) {
  const AddRelativeMagnitudes<T> kernel{weight.weight.const_data_ptr<T>(),
                                        weight.rows,
                                        weight.columns,
                                        weight.groups.size,
                                        weight.groups.count,
                                        largest.const_data_ptr<double>(),
                                        floor,
                                        sums.data_ptr<double>()};
  cuda::run_kernel(entry, kernel, weight.weight.device());
}

}  // namespace

RoundingByKernel::RoundingByKernel(const ScaledWeight& weight, std::span<const double> scale)
    : weight_(weight),
      scale_(beside<double>(weight.weight, scale).clone()),
      tensor_scale_(tensor_scale_of(weight, scale)) {}

at::Tensor RoundingByKernel::made(int64_t rows, int64_t columns, at::ScalarType type) const {
  return at::empty({rows, columns}, weight_.weight.options().dtype(type));
}

at::Tensor RoundingByKernel::limits_of(const Limits& limits, int64_t first, int64_t count) const {
  if (limits.empty()) {
    return {};
  }
  const auto groups = static_cast<size_t>(weight_.groups.count);
  return beside<double>(weight_.weight, {limits.data() + static_cast<size_t>(first) * groups,
                                         static_cast<size_t>(count) * groups});
}

template <typename T, typename Numbers>
void RoundingByKernel::run_as(const Run& run, const Numbers& numbers, const char* entry) const {
  const RoundScaled<T, Numbers> kernel{
      weight_.weight.const_data_ptr<T>() + run.first * weight_.columns,
      run.count,
      weight_.columns,
      weight_.groups.size,
      weight_.groups.count,
      numbers,
      scale_.const_data_ptr<double>(),
      pointer<double>(run.limits),
      run.part,
      pointer<float>(run.errors),
      pointer<uint8_t>(run.codes),
      pointer<double>(run.scales),
      pointer<double>(run.zeros),
      pointer<double>(run.magnitudes)};
  cuda::run_kernel(entry, kernel, weight_.weight.device());
}

template <typename Numbers>
void RoundingByKernel::run_to(const Run& run, const Numbers& numbers, const char* of_float,
                              const char* of_double) const {
  if (weight_.weight.scalar_type() == at::kDouble) {
    run_as<double>(run, numbers, of_double);
  } else {
    run_as<float>(run, numbers, of_float);
  }
}

void RoundingByKernel::run(const Run& run) const {
  if (weight_.format != nullptr) {
    run_to(run, FormatNumbers{*weight_.format, scale_rule_of(weight_.kind), tensor_scale_},
           kRoundScaledToFormatFloat, kRoundScaledToFormatDouble);
  } else {
    run_to(run, RuledNumbers{weight_.kind, weight_.rule}, kRoundScaledFloat, kRoundScaledDouble);
  }
}

at::Tensor RoundingByKernel::errors(const Limits& limits, int64_t first, int64_t count) const {
  const Run wanted{.first = first,
                   .count = count,
                   .limits = limits_of(limits, first, count),
                   .errors = made(count, weight_.columns, at::kFloat)};
  run(wanted);
  return wanted.errors;
}

at::Tensor RoundingByKernel::clipped_errors(double part, int64_t first, int64_t count) const {
  const Run wanted{.first = first,
                   .count = count,
                   .part = part,
                   .errors = made(count, weight_.columns, at::kFloat)};
  run(wanted);
  return wanted.errors;
}

at::Tensor RoundingByKernel::magnitudes() const {
  const Run wanted{.first = 0,
                   .count = weight_.rows,
                   .magnitudes = made(weight_.rows, weight_.groups.count, at::kDouble)};
  run(wanted);
  return wanted.magnitudes;
}

CodedThere RoundingByKernel::code(const Limits& limits) const {
  CodedThere there(weight_.weight, weight_.groups);
  run({.first = 0,
       .count = weight_.rows,
       .limits = limits_of(limits, 0, weight_.rows),
       .codes = there.codes,
       .scales = there.scales,
       .zeros = there.zeros});
  return there;
}

void add_magnitudes_by_kernel(const at::Tensor& rows, const std::vector<double>& roots,
                              const at::Tensor& sums) {
  std::vector<double> squares = roots;
  for (double& root : squares) {
    root *= root;
  }
  const at::Tensor weights = squares.empty() ? at::Tensor() : beside<double>(rows, squares);
  if (rows.scalar_type() == at::kDouble) {
    add_magnitudes<double>(rows, weights, sums, kAddMagnitudesDouble);
  } else {
    add_magnitudes<float>(rows, weights, sums, kAddMagnitudesFloat);
  }
}

void add_relative_magnitudes_by_kernel(const ScaledWeight& weight, double floor,
                                       std::span<double> sums) {
  const std::vector<double> unscaled(static_cast<size_t>(weight.columns), 1.0);
  const at::Tensor largest = RoundingByKernel(weight, unscaled).magnitudes();
  const at::Tensor there = beside<double>(weight.weight, sums).clone();
  if (weight.weight.scalar_type() == at::kDouble) {
    add_relative<double>(weight, largest, floor, there, kAddRelativeDouble);
  } else {
    add_relative<float>(weight, largest, floor, there, kAddRelativeFloat);
  }
  take(there, sums);
}

}  // namespace quench::quantizers
