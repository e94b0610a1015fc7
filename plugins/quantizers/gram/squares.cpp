#include "quantizers/gram/squares.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "quantizers/gram/squares_entries.hpp"
#include "shared/cuda/run_kernel.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
double squares_in_order(const at::Tensor& values) {
  const T* from = values.const_data_ptr<T>();
  double sum = 0;
  for (int64_t i = 0; i < values.numel(); ++i) {
    sum += static_cast<double>(from[i]) * from[i];
  }
  return sum;
}

template <typename T>
at::Tensor column_squares(const at::Tensor& values, const char* entry) {
  const int64_t columns = values.size(-1);
  at::Tensor sums = at::empty({columns}, values.options().dtype(at::kDouble));
  const ColumnSquares<T> kernel{values.const_data_ptr<T>(), values.numel() / columns, columns,
                                sums.data_ptr<double>()};
  cuda::run_kernel(entry, kernel, values.device());
  return sums;
}

}  // namespace

double sum_of_squares(const at::Tensor& values) {
  const at::Tensor dense = values.contiguous();
  const bool wide = dense.scalar_type() == at::kDouble;
  if (matrix::on_host(dense)) {
    return wide ? squares_in_order<double>(dense) : squares_in_order<float>(dense);
  }
  if (dense.numel() == 0) {
    return 0;
  }
  const at::Tensor sums = (wide ? column_squares<double>(dense, kColumnSquaresDouble)
                                : column_squares<float>(dense, kColumnSquaresFloat))
                              .to(at::kCPU);
  double sum = 0;
  for (int64_t c = 0; c < sums.numel(); ++c) {
    sum += sums.const_data_ptr<double>()[c];
  }
  return sum;
}

double squared_difference(const at::Tensor& a, const at::Tensor& b) {
  constexpr int64_t kHeld = int64_t{1} << 23;
  const int64_t rows = a.size(0);
  const int64_t most = matrix::on_host(a)
                           ? rows
                           : std::max<int64_t>(1, kHeld * rows / std::max<int64_t>(1, a.numel()));
  double sum = 0;
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    sum += sum_of_squares(
        a.narrow(0, first, count).to(at::kDouble).sub(b.narrow(0, first, count).to(at::kDouble)));
  }
  return sum;
}

}  // namespace quench::quantizers
