#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>

#include <catch2/catch.hpp>
#include <limits>

#include "shared/matrix/product.hpp"
#include "tests/plugins/quantizers/two_threads.hpp"
#include "tests/support/test_host.hpp"

using quench::matrix::add_float64_square;
using quench::matrix::add_product;
using quench::matrix::has_kernel_for;
using quench::matrix::has_processor;
using quench::matrix::Part;
using quench::matrix::product;
using quench::matrix::product_into;

namespace {

const quench::test::InstalledHost host;
const bool seeded = (at::manual_seed(1), true);  // libtorch's own seed is another one every time

// Sums of some thousand numbers in [0, 1) against float64; the tests' largest depth is 2100.
double tolerance(at::ScalarType type) {
  return type == at::kDouble ? 1e-14 : 2e-6;
}

struct Sizes {
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

// A matrix of that shape, in C order or as the transpose of one; `gap` elements between its rows.
at::Tensor matrix(int64_t rows, int64_t columns, bool turned, at::ScalarType type,
                  int64_t gap = 0) {
  const auto options = at::TensorOptions(type);
  return turned ? at::rand({columns, rows + gap}, options).narrow(1, 0, rows).t()
                : at::rand({rows, columns + gap}, options).narrow(1, 0, columns);
}

at::Tensor wide(const at::Tensor& x) {
  return x.to(at::kDouble);
}

double relative_error(const at::Tensor& got, const at::Tensor& wanted) {
  return wide(got).sub(wanted).abs().div(wanted.abs()).max().item().toDouble();
}

}  // namespace

// Sizes that are no multiples of a tile, a vector or a panel, and depths of more than one panel and
// of more than is copied at a time.
TEST_CASE("matrix: products are libtorch's in float64, for every layout and size", "[shared]") {
  const Sizes sizes =
      GENERATE(Sizes{1, 40, 1000}, Sizes{13, 257, 31}, Sizes{14, 256, 32}, Sizes{15, 700, 33},
               Sizes{130, 96, 49}, Sizes{4096, 24, 17}, Sizes{31, 2100, 65}, Sizes{253, 65, 130});
  const bool a_turned = GENERATE(false, true);
  const bool b_turned = GENERATE(false, true);
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const int64_t gap = GENERATE(0, 3);
  CAPTURE(sizes.rows, sizes.depth, sizes.columns, a_turned, b_turned, gap, at::toString(type));
  const at::Tensor a = matrix(sizes.rows, sizes.depth, a_turned, type, gap);
  const at::Tensor b = matrix(sizes.depth, sizes.columns, b_turned, type, gap);
  CHECK(has_kernel_for(a, b) == has_processor());
  const at::Tensor wanted = at::mm(wide(a), wide(b));
  CHECK(relative_error(product(a, b), wanted) < tolerance(type));

  const at::Tensor to = matrix(sizes.rows, sizes.columns, false, type, gap);
  const at::Tensor before = wide(to).clone();
  add_product(to, a, b, 0.5);
  CHECK(relative_error(to, before.add(wanted, 0.5)) < tolerance(type));

  const at::Tensor bias = at::rand({sizes.columns}, a.options());
  product_into(to, a, b, bias);
  CHECK(relative_error(to, wanted.add(wide(bias))) < tolerance(type));
  product_into(to, a, b);
  CHECK(relative_error(to, wanted) < tolerance(type));
}

TEST_CASE("matrix: columns of b that do not fit at once give the same", "[shared]") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const at::Tensor a = matrix(20, 1300, false, type);
  const at::Tensor b = matrix(1300, 3000, true, type);
  CHECK(relative_error(product(a, b), at::mm(wide(a), wide(b))) < tolerance(type));
}

TEST_CASE("matrix: float32 products go into float64 sums", "[shared]") {
  const at::Tensor a = matrix(70, 600, true, at::kFloat);
  const at::Tensor b = matrix(600, 45, false, at::kFloat);
  const at::Tensor to = at::full({70, 45}, 1e9, at::kDouble);
  add_product(to, a, b);
  CHECK(relative_error(to.sub(1e9), at::mm(wide(a), wide(b))) < tolerance(at::kFloat));
}

TEST_CASE("matrix: of a triangle all that is wanted is made", "[shared]") {
  const int64_t n = GENERATE(40, 97, 500, 1100);
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  CAPTURE(n, at::toString(type));
  const at::Tensor x = matrix(300, n, false, type);
  const at::Tensor wanted = at::mm(wide(x).t(), wide(x)).add(1);
  const at::Tensor upper = at::full({n, n}, 1, at::kDouble);
  add_product(upper, x.t(), x, 1, Part::kUpper);
  CHECK(relative_error(at::triu(upper).add(at::tril(wanted, -1)), wanted) < tolerance(type));
  const at::Tensor lower = at::full({n, n}, 1, at::kDouble);
  add_product(lower, x.t(), x, 1, Part::kLower);
  CHECK(relative_error(at::tril(lower).add(at::triu(wanted, 1)), wanted) < tolerance(type));
}

TEST_CASE("matrix: the float64 square of float32 rows is that of the same rows in float64",
          "[shared]") {
  const int64_t n = GENERATE(5, 40, 97, 500);
  const int64_t count = GENERATE(1, 300, 1024);
  const bool turned = GENERATE(false, true);
  CAPTURE(n, count, turned);
  const at::Tensor rows = matrix(count, n, turned, at::kFloat, 3);
  const at::Tensor made = at::full({n, n}, 1, at::kDouble);
  add_float64_square(made, rows);
  const at::Tensor same = at::full({n, n}, 1, at::kDouble);
  add_float64_square(same, wide(rows).contiguous());
  const at::Tensor wanted = at::mm(wide(rows).t(), wide(rows)).add(1);
  CHECK(relative_error(at::triu(made).add(at::tril(wanted, -1)), wanted) < tolerance(at::kDouble));
  if (has_kernel_for(rows.t(), rows)) {
    CHECK(at::triu(made).equal(at::triu(same)));
  }
}

TEST_CASE("matrix: one and two threads give the same bits", "[shared]") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const at::Tensor a = matrix(1000, 300, false, type);
  const at::Tensor b = matrix(300, 700, false, type);
  const at::Tensor one = product(a, b);
  const at::Tensor triangle = at::full({1000, 1000}, 0, at::kDouble);
  add_product(triangle, a, a.t(), 1, Part::kUpper);
  const quench::test::TwoThreads threads;
  CHECK(product(a, b).equal(one));
  const at::Tensor again = at::full({1000, 1000}, 0, at::kDouble);
  add_product(again, a, a.t(), 1, Part::kUpper);
  CHECK(at::triu(again).equal(at::triu(triangle)));
}

// What is made together must not matter: rows are batched differently from caller to caller.
TEST_CASE("matrix: the bits of a row do not depend on the rows beside it", "[shared]") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const at::Tensor a = matrix(300, 520, false, type);
  const at::Tensor b = matrix(520, 260, true, type);
  if (!has_kernel_for(a, b)) {
    WARN("libtorch's products on this processor: skipped");
    return;
  }
  const at::Tensor all = product(a, b);
  CHECK(product(a.narrow(0, 100, 3), b).equal(all.narrow(0, 100, 3)));
  CHECK(product(a, b.narrow(1, 50, 7)).equal(all.narrow(1, 50, 7)));
}

TEST_CASE("matrix: NaN and Inf reach their rows and columns, and no others", "[shared]") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  at::Tensor a = matrix(45, 300, false, type);
  at::Tensor b = matrix(300, 70, false, type);
  a.select(0, 17).select(0, 299).fill_(std::numeric_limits<double>::quiet_NaN());
  b.select(1, 69).select(0, 5).fill_(std::numeric_limits<double>::infinity());
  const at::Tensor got = product(a, b);
  CHECK(at::isnan(got.select(0, 17)).all().item().toBool());
  CHECK(at::isnan(got).sum().item().toLong() == 70);
  CHECK(got.select(1, 69).isinf().sum().item().toLong() == 44);
  CHECK(got.isinf().sum().item().toLong() == 44);
}

TEST_CASE("matrix: what is no float32 or float64 is libtorch's", "[shared]") {
  const at::Tensor a = at::rand({40, 40}).to(at::kBFloat16);
  CHECK_FALSE(has_kernel_for(a, a));
  CHECK(product(a, a).equal(at::mm(a, a)));
}
