#include "quantizers/gram/row_sample.hpp"

#include <ATen/ops/cat.h>

#include <algorithm>

namespace quench::quantizers {

void RowSample::add(const at::Tensor& rows) {
  const int64_t wanted = kRows - (rows_.defined() ? rows_.size(0) : 0);
  if (wanted <= 0) {
    return;
  }
  const at::Tensor own = rows.narrow(0, 0, std::min(wanted, rows.size(0))).to(at::kFloat);
  rows_ = rows_.defined() ? at::cat({rows_, own}) : own.clone();
}

}  // namespace quench::quantizers
