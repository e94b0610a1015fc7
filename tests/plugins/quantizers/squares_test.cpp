// Before Catch2: headers of libtorch have a CHECK as well.
#include "quench/kit/torch.hpp"

#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>

#include "quantizers/gram/squares.hpp"
#include "quantizers/gram/squares_kernel.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/matrix.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

using quantizers::sum_of_squares;

at::Tensor tensor_of(const Matrix& m, at::ScalarType type) {
  return at::from_blob(const_cast<double*>(m.values.data()), {m.rows, m.columns}, at::kDouble)
      .to(type)
      .clone();
}

}  // namespace

TEST_CASE("squares are summed in the order of memory", "[quantizers][gram]") {
  const auto type = GENERATE(at::kFloat, at::kDouble);
  // Four times 2^-54 count beside a 1 that comes last, and are lost one by one after it.
  const Matrix last = matrix({{0x1p-27, 0x1p-27, 0}, {0x1p-27, 0x1p-27, 1}});
  CHECK(sum_of_squares(tensor_of(last, type)) == 1 + 4 * 0x1p-54);
  const Matrix first = matrix({{1, 0x1p-27, 0x1p-27}, {0, 0x1p-27, 0x1p-27}});
  CHECK(sum_of_squares(tensor_of(first, type)) == 1);
  CHECK(sum_of_squares(tensor_of(matrix({{3, -4}, {0, 2}}), type)) == 29);
}

TEST_CASE("squares on a device are summed by columns, then over them", "[quantizers][gram][cuda]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  const auto type = GENERATE(at::kFloat, at::kDouble);
  // A column of four times 2^-54 counts beside the 1 of another one, in whatever row that is; one
  // by one they would be lost after it.
  const Matrix m = matrix({{1, 0x1p-27}, {0, 0x1p-27}, {0, 0x1p-27}, {0, 0x1p-27}});
  CHECK(sum_of_squares(tensor_of(m, type)) == 1 + 4 * 0x1p-54);
  // In a column the rows come in their order.
  const double e = 0x1p-27;
  CHECK(sum_of_squares(tensor_of(matrix({{1}, {e}, {e}, {e}, {e}}), type)) == 1);
  CHECK(sum_of_squares(tensor_of(matrix({{e}, {e}, {e}, {e}, {1}}), type)) == 1 + 4 * e * e);
  const at::Tensor none = tensor_of(m, type).narrow(0, 0, 0);
  CHECK(sum_of_squares(none) == 0);
}

TEST_CASE("squares on a device differ from the processor's by the order of sums alone",
          "[quantizers][gram][cuda]") {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {37, 133}, {300, 64}}) {
    const at::Tensor values = tensor_of(random_matrix(rows, columns, 3), at::kFloat);
    const double wanted = sum_of_squares(values);
    const matrix::LibtorchAlone as_on_a_gpu;
    CHECK(sum_of_squares(values) == Approx(wanted).epsilon(1e-13));
    CHECK(sum_of_squares(values.t()) == Approx(wanted).epsilon(1e-13));  // strides do not matter
  }
}

TEST_CASE("squares on a device: a thread reads nothing that another writes",
          "[quantizers][gram][cuda]") {
  const Matrix m = random_matrix(5, 70, 6);
  std::vector<double> sums[2];
  for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
    std::vector<double>& own = sums[order == cuda::Order::kFirstToLast ? 0 : 1];
    own.resize(70);
    const quantizers::ColumnSquares<double> kernel{m.values.data(), 5, 70, own.data()};
    cuda::run_on_host(kernel, kernel.blocks(), order);
  }
  CHECK(differences(sums[0], sums[1]) == "");
}

}  // namespace quench::test
