#include "quantizers/hqq/device/solve_by_kernel.hpp"

#include "quantizers/hqq/device/entries.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
CodedThere solve(const at::Tensor& weight, Groups groups, int64_t bits,
                 const HalfQuadratic& options, const char* entry) {
  CodedThere made(weight, groups);
  const SolveRows<T> kernel{weight.const_data_ptr<T>(),
                            weight.size(0),
                            weight.size(1),
                            groups.size,
                            groups.count,
                            bits,
                            options,
                            made.codes.data_ptr<uint8_t>(),
                            made.scales.data_ptr<double>(),
                            made.zeros.data_ptr<double>()};
  cuda::run_kernel(entry, kernel, weight.device());
  return made;
}

}  // namespace

CodedThere solve_by_kernel(const at::Tensor& weight, Groups groups, int64_t bits,
                           const HalfQuadratic& options) {
  return weight.scalar_type() == at::kDouble
             ? solve<double>(weight, groups, bits, options, kSolveRowsDouble)
             : solve<float>(weight, groups, bits, options, kSolveRowsFloat);
}

}  // namespace quench::quantizers
