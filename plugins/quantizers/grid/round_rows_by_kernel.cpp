#include <ATen/ops/empty.h>

#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/round_rows_entries.hpp"
#include "quantizers/grid/round_rows_kernel.hpp"
#include "quench/kit/torch.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
void run(const at::Tensor& weight, Groups groups, GridKind kind, const Coded& coded) {
  const auto like = [&](int64_t columns, at::ScalarType type) {
    return at::empty({coded.rows, columns}, weight.options().dtype(type));
  };
  const at::Tensor codes = like(coded.columns, at::kByte);
  const at::Tensor scales = like(groups.count, at::kDouble);
  const at::Tensor zeros = like(groups.count, at::kDouble);
  const RoundRows<T> kernel{weight.const_data_ptr<T>(),
                            coded.rows,
                            coded.columns,
                            groups.size,
                            groups.count,
                            kind,
                            nullptr,
                            codes.data_ptr<uint8_t>(),
                            scales.data_ptr<double>(),
                            zeros.data_ptr<double>(),
                            groups.count,
                            1};
  cuda::run_kernel(sizeof(T) == sizeof(double) ? kRoundRowsDouble : kRoundRowsFloat, kernel,
                   weight.device());
  take(codes, coded.codes);
  take(scales, coded.scales);
  take(zeros, coded.zeros);
}

}  // namespace

void round_rows_by_kernel(const at::Tensor& weight, Groups groups, GridKind kind,
                          const Coded& coded) {
  const at::Tensor dense = weight.contiguous();
  if (weight.scalar_type() == at::kDouble) {
    run<double>(dense, groups, kind, coded);
  } else {
    run<float>(dense, groups, kind, coded);
  }
}

}  // namespace quench::quantizers
