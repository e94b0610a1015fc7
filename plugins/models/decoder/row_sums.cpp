#include "models/decoder/row_sums.hpp"
#include "shared/matrix/on_host.hpp"

#include <ATen/ops/sum.h>

namespace quench::decoder {

namespace {

template <typename T>
void add_sums(const at::Tensor& x, const at::Tensor& to) {
  const at::Tensor held = x.contiguous();
  const auto* from = held.const_data_ptr<T>();
  const auto columns = static_cast<uint64_t>(held.size(1));
  add_over_rows<T>(static_cast<uint64_t>(held.size(0)), columns, to.mutable_data_ptr<T>(),
                   [&](uint64_t row, T* sums) {
                     const T* values = from + row * columns;
                     for (uint64_t c = 0; c < columns; ++c) {
                       sums[c] += values[c];
                     }
                   });
}

}  // namespace

void add_column_sums(const at::Tensor& x, const at::Tensor& to) {
  if (!matrix::on_host(x)) {
    at::Tensor held = to;
    held.add_(at::sum(x, {0}, false, to.scalar_type()));
  } else if (to.scalar_type() == at::kDouble) {
    add_sums<double>(x.to(at::kDouble), to);
  } else {
    add_sums<float>(x.to(at::kFloat), to);
  }
}

}  // namespace quench::decoder
