#include "quantizers/hqq/device/solve_by_kernel.hpp"

#include <ATen/ops/empty.h>

#include "quantizers/hqq/device/entries.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
void solve(const at::Tensor& weight, Groups groups, int64_t bits, const HalfQuadratic& options,
           const Coded& coded, const char* entry) {
  const auto like = [&](int64_t columns, at::ScalarType type) {
    return at::empty({coded.rows, columns}, weight.options().dtype(type));
  };
  const at::Tensor codes = like(coded.columns, at::kByte);
  const at::Tensor scales = like(groups.count, at::kDouble);
  const at::Tensor zeros = like(groups.count, at::kDouble);
  const SolveRows<T> kernel{weight.const_data_ptr<T>(),
                            coded.rows,
                            coded.columns,
                            groups.size,
                            groups.count,
                            bits,
                            options,
                            codes.data_ptr<uint8_t>(),
                            scales.data_ptr<double>(),
                            zeros.data_ptr<double>()};
  cuda::run_kernel(entry, kernel, weight.device());
  take(codes, coded.codes);
  take(scales, coded.scales);
  take(zeros, coded.zeros);
}

}  // namespace

void solve_by_kernel(const at::Tensor& weight, Groups groups, int64_t bits,
                     const HalfQuadratic& options, const Coded& coded) {
  if (weight.scalar_type() == at::kDouble) {
    solve<double>(weight, groups, bits, options, coded, kSolveRowsDouble);
  } else {
    solve<float>(weight, groups, bits, options, coded, kSolveRowsFloat);
  }
}

}  // namespace quench::quantizers
