#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/round_rows_entries.hpp"
#include "quantizers/grid/round_rows_on.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

CodedThere round_rows_there(const at::Tensor& weight, Groups groups, GridKind kind) {
  const at::Tensor dense = weight.contiguous();
  const GridNumbers numbers{kind};
  return dense.scalar_type() == at::kDouble
             ? round_rows_on<double>(dense, groups, numbers, kRoundRowsDouble)
             : round_rows_on<float>(dense, groups, numbers, kRoundRowsFloat);
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
