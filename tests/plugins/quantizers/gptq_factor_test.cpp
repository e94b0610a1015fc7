#include <ATen/Parallel.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "quantizers/gptq/device/triangles.hpp"
#include "quantizers/gptq/factor.hpp"
#include "quantizers/gptq/reference.hpp"
#include "quench/kit/error.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/host_threads.hpp"

namespace quench::test {

namespace {

using quantizers::ColumnOrder;
using quantizers::Factor;
using quantizers::factorize;

at::Tensor tensor_of(const Matrix& m) {
  at::Tensor out = at::zeros({m.rows, m.columns}, at::kDouble);
  std::memcpy(out.data_ptr<double>(), m.values.data(), m.values.size() * sizeof(double));
  return out;
}

Matrix gram_of(const Matrix& x) {
  return product(transposed(x), x);
}

double largest(const at::Tensor& t) {
  return t.abs().max().item<double>();
}

}  // namespace

TEST_CASE("gptq: the factor U satisfies U'U = H^-1", "[quantizers][gptq]") {
  const int64_t n = GENERATE(1, 2, 5, 127, 128, 129, 300, 640);
  const double rows = 700;
  const Matrix gram = gram_of(random_matrix(700, n, 11, true));
  const Factor factor = factorize(tensor_of(gram), rows, {ColumnOrder::kGiven, 0.01, 0});
  at::Tensor h = tensor_of(gram).mul(2 / rows);
  h.add_(at::eye(n, at::kDouble), 0.01 * h.diagonal().mean().item<double>());
  const at::Tensor inverse = at::mm(factor.upper.t(), factor.upper);
  CHECK(largest(at::mm(inverse, h).sub(at::eye(n, at::kDouble))) < 1e-10);
  CHECK(largest(factor.upper.tril(-1)) == 0);
  for (int64_t i = 0; i < n; ++i) {
    REQUIRE(factor.pivots[static_cast<size_t>(i)] == factor.upper[i][i].item<double>());
    REQUIRE(factor.pivots[static_cast<size_t>(i)] > 0);
  }
}

TEST_CASE("gptq: the factor is that of the textbook's three steps", "[quantizers][gptq]") {
  const int64_t n = 150;
  const double rows = 200;
  const Matrix gram = gram_of(random_matrix(200, n, 12, true));
  const Factor factor = factorize(tensor_of(gram), rows, {ColumnOrder::kGiven, 0.05, 0});
  quantizers::reference::Matrix h{n, n, gram.values};
  double trace = 0;
  for (double& value : h.values) {
    value *= 2 / rows;
  }
  for (int64_t i = 0; i < n; ++i) {
    trace += h(i, i);
  }
  for (int64_t i = 0; i < n; ++i) {
    h(i, i) += 0.05 * trace / static_cast<double>(n);
  }
  const auto expected = quantizers::reference::upper_factor_of_inverse(h);
  const at::Tensor difference = factor.upper.sub(tensor_of({n, n, expected.values}));
  CHECK(largest(difference) < 1e-11 * largest(factor.upper));
}

TEST_CASE("gptq: the factor has the same bits for one and two threads", "[quantizers][gptq]") {
  const Matrix gram = gram_of(random_matrix(800, 700, 13, true));
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Factor one = factorize(tensor_of(gram), 800, {ColumnOrder::kActivation, 0.01, 0});
  at::set_num_threads(2);
  const HostThreads host(2);
  const Factor two = factorize(tensor_of(gram), 800, {ColumnOrder::kActivation, 0.01, 0});
  at::set_num_threads(before);
  CHECK(one.perm == two.perm);
  CHECK(one.upper.equal(two.upper));
}

TEST_CASE("gptq: equal diagonals keep their column order", "[quantizers][gptq]") {
  Matrix gram =
      matrix({{1, 0, 0, 0, 0}, {0, 3, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 3}});
  const Factor factor = factorize(tensor_of(gram), 2, {ColumnOrder::kActivation, 0, 0});
  CHECK(factor.perm == std::vector<int32_t>{1, 4, 0, 2, 3});  // the dead column counts as 1
  CHECK(factor.dead == std::vector<uint8_t>{0, 0, 0, 1, 0});
  CHECK(factor.dead_count == 1);
}

TEST_CASE("gptq: a singular Hessian is retried with more damping", "[quantizers][gptq]") {
  const Matrix gram = gram_of(random_matrix(20, 64, 14));  // rank 20 of 64
  CHECK_THROWS_WITH(factorize(tensor_of(gram), 20, {ColumnOrder::kGiven, 0, 0}),
                    Catch::Contains("not positive definite with damp 0 after 0 retries"));
  const Factor factor = factorize(tensor_of(gram), 20, {ColumnOrder::kGiven, 0, 0.02});
  CHECK(factor.damp == 0.02);
  CHECK(factor.retries == 1);

  Matrix negative = matrix({{1, 5}, {5, 1}});  // eigenvalues 6 and -4: needs damp above 4
  CHECK_THROWS_WITH(factorize(tensor_of(negative), 2, {ColumnOrder::kGiven, 0.1, 0.3}),
                    Catch::Contains("after 2 retries"));
}

TEST_CASE("gptq: libtorch's factorization gives the factor of the plugin's own",
          "[quantizers][gptq][cuda]") {
  const int64_t n = GENERATE(1, 2, 5, 127, 300, 600);
  const auto order = GENERATE(ColumnOrder::kGiven, ColumnOrder::kActivation);
  Matrix x = random_matrix(700, n, 11, true);
  for (int64_t r = 0; r < x.rows && n > 2; ++r) {
    x.values[static_cast<size_t>(r * n + 1)] = 0;  // a dead column
  }
  const at::Tensor gram = tensor_of(gram_of(x));
  const quantizers::FactorOptions options{order, 0.01, 0};
  const Factor wanted = factorize(gram, 700, options, quantizers::decompose_on_host);
  const Factor got = factorize(gram, 700, options, quantizers::decompose_by_libtorch);
  CHECK(largest(got.upper.sub(wanted.upper)) < 1e-11 * largest(wanted.upper));
  CHECK(largest(got.upper.tril(-1)) == 0);
  CHECK(got.perm == wanted.perm);
  CHECK(got.dead == wanted.dead);
  CHECK(got.pivots[0] == got.upper[0][0].item<double>());
  CHECK(got.condition() == Approx(wanted.condition()).epsilon(1e-9));
}

TEST_CASE("gptq: a lower triangle is inverted in place, in any blocks",
          "[quantizers][gptq][cuda]") {
  const int64_t n = GENERATE(1, 31, 32, 64, 200, 256, 300);
  const int64_t block = GENERATE(32, 64, 128, 512);
  const bool by_columns = GENERATE(false, true);
  CAPTURE(n, block, by_columns);
  const at::Tensor square = tensor_of(gram_of(random_matrix(2 * n + 3, n, 9)));
  const at::Tensor lower = square.div(square.diagonal().max()).tril();
  lower.diagonal().add_(1);
  const at::Tensor inverse =
      by_columns ? lower.t().clone(at::MemoryFormat::Contiguous).t() : lower.clone();
  quantizers::invert_lower_on_device(inverse, block);
  const at::Tensor one = lower.matmul(inverse);
  one.diagonal().sub_(1);
  CHECK(largest(one) < 1e-12);
  CHECK(largest(inverse.triu(1)) == 0);
}

TEST_CASE("gptq: a matrix is reversed and transposed in place, in any tiles",
          "[quantizers][gptq][cuda]") {
  const int64_t n = GENERATE(1, 5, 12, 17);
  const int64_t tile = GENERATE(1, 4, 5, 12, 4096);
  CAPTURE(n, tile);
  const at::Tensor matrix = tensor_of(random_matrix(n, n, 3));
  const at::Tensor turned = matrix.clone();
  quantizers::reverse_and_transpose_in_place(turned, tile);
  CHECK(turned.equal(matrix.flip({0, 1}).t()));
}

TEST_CASE("gptq: libtorch's factorization is retried and given up like the plugin's own",
          "[quantizers][gptq][cuda]") {
  at::Tensor gram = tensor_of(gram_of(random_matrix(40, 30, 5, true)));
  gram[3][3] = GENERATE(-1, -10, -400);  // no Gram matrix has it
  const double increment = GENERATE(0.0, 0.05);
  const bool raise_floor = GENERATE(false, true);
  quantizers::FactorOptions options{ColumnOrder::kGiven, 0.01, increment};
  options.raise_floor = raise_floor;
  Factor by_host;
  Factor by_libtorch;
  const auto wanted =
      quantizers::try_factorize(gram, 40, options, by_host, quantizers::decompose_on_host);
  const auto got =
      quantizers::try_factorize(gram, 40, options, by_libtorch, quantizers::decompose_by_libtorch);
  REQUIRE(got.has_value() == wanted.has_value());
  const Factor& mine = got ? *got : by_libtorch;
  const Factor& theirs = wanted ? *wanted : by_host;
  CHECK(mine.damp == theirs.damp);
  CHECK(mine.retries == theirs.retries);
  CHECK(mine.floor == theirs.floor);
}

TEST_CASE("gptq: a factor that does not multiply out to the Hessian is refused",
          "[quantizers][gptq][cuda]") {
  at::Tensor gram = tensor_of(gram_of(random_matrix(40, 30, 5, true)));
  gram[2][7] += 20;  // one triangle only, where no factorization looks
  CHECK_THROWS_WITH(
      factorize(gram, 40, {ColumnOrder::kGiven, 0.01, 0}, quantizers::decompose_by_libtorch),
      Catch::StartsWith("libtorch on cpu: the factor is ") &&
          Catch::EndsWith("wanted at most 1e-09"));
}

}  // namespace quench::test
