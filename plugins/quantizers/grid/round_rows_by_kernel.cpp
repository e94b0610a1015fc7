#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/round_rows_entries.hpp"
#include "quantizers/grid/round_rows_kernel.hpp"
#include "quench/kit/torch.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
CodedThere run(const at::Tensor& weight, Groups groups, GridKind kind) {
  CodedThere made(weight, groups);
  const RoundRows<T> kernel{weight.const_data_ptr<T>(),
                            weight.size(0),
                            weight.size(1),
                            groups.size,
                            groups.count,
                            kind,
                            nullptr,
                            made.codes.data_ptr<uint8_t>(),
                            made.scales.data_ptr<double>(),
                            made.zeros.data_ptr<double>(),
                            groups.count,
                            1};
  cuda::run_kernel(sizeof(T) == sizeof(double) ? kRoundRowsDouble : kRoundRowsFloat, kernel,
                   weight.device());
  return made;
}

}  // namespace

CodedThere round_rows_there(const at::Tensor& weight, Groups groups, GridKind kind) {
  const at::Tensor dense = weight.contiguous();
  return weight.scalar_type() == at::kDouble ? run<double>(dense, groups, kind)
                                             : run<float>(dense, groups, kind);
}

void round_rows_by_kernel(const at::Tensor& weight, Groups groups, GridKind kind,
                          const Coded& coded) {
  take(round_rows_there(weight, groups, kind), coded);
}

void round_rows_into(const at::Tensor& weight, Groups groups, GridKind kind,
                     const at::Tensor& dequantized, const char* name) {
  dequantize_on_device(round_rows_there(weight, groups, kind), groups, dequantized, name);
}

}  // namespace quench::quantizers
