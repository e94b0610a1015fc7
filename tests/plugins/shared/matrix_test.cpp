#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "shared/matrix/product.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/test_host.hpp"

using quench::matrix::add_float64_square;
using quench::matrix::add_product;
using quench::matrix::product;
using quench::matrix::product_into;
using quench::matrix::Triangle;
using quench::test::available_instructions;
using quench::test::UseInstructions;

namespace {

const bool seeded = (at::manual_seed(1), true);  // libtorch's own seed is another one every time

// Sums of some thousand numbers in [0, 1) against float64; the tests' largest depth is 2100. A
// 16-bit result is such a sum, rounded once.
double tolerance(at::ScalarType type) {
  return type == at::kDouble     ? 1e-14
         : type == at::kBFloat16 ? 0x1p-8
         : type == at::kHalf     ? 0x1p-11 + 2e-6
                                 : 2e-6;
}

// Each form that this processor can run, one after the other.
int32_t each_form() {
  return GENERATE(from_range(available_instructions()));
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
      GENERATE(Sizes{1, 1, 1}, Sizes{1, 40, 1000}, Sizes{2, 3, 5}, Sizes{3, 300, 40},
               Sizes{7, 600, 1}, Sizes{13, 257, 31}, Sizes{14, 256, 32}, Sizes{15, 700, 33},
               Sizes{130, 96, 49}, Sizes{4096, 24, 17}, Sizes{31, 2100, 65}, Sizes{253, 65, 130});
  const bool a_turned = GENERATE(false, true);
  const bool b_turned = GENERATE(false, true);
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const int64_t gap = GENERATE(0, 3);
  const int32_t form = each_form();
  const UseInstructions use(form);
  CAPTURE(form, sizes.rows, sizes.depth, sizes.columns, a_turned, b_turned, gap,
          at::toString(type));
  const at::Tensor a = matrix(sizes.rows, sizes.depth, a_turned, type, gap);
  const at::Tensor b = matrix(sizes.depth, sizes.columns, b_turned, type, gap);
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
  const UseInstructions use(each_form());
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const at::Tensor a = matrix(20, 1300, false, type);
  const at::Tensor b = matrix(1300, 3000, true, type);
  CHECK(relative_error(product(a, b), at::mm(wide(a), wide(b))) < tolerance(type));
}

TEST_CASE("matrix: float32 products go into float64 sums", "[shared]") {
  const UseInstructions use(each_form());
  const at::Tensor a = matrix(70, 600, true, at::kFloat);
  const at::Tensor b = matrix(600, 45, false, at::kFloat);
  const at::Tensor to = at::full({70, 45}, 1e9, at::kDouble);
  add_product(to, a, b);
  CHECK(relative_error(to.sub(1e9), at::mm(wide(a), wide(b))) < tolerance(at::kFloat));
}

TEST_CASE("matrix: of a triangle all that is wanted is made", "[shared]") {
  const UseInstructions use(each_form());
  const int64_t n = GENERATE(40, 97, 500, 1100);
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  CAPTURE(n, at::toString(type));
  const at::Tensor x = matrix(300, n, false, type);
  const at::Tensor wanted = at::mm(wide(x).t(), wide(x)).add(1);
  const at::Tensor upper = at::full({n, n}, 1, at::kDouble);
  add_product(upper, x.t(), x, 1, Triangle::kUpper);
  CHECK(relative_error(at::triu(upper).add(at::tril(wanted, -1)), wanted) < tolerance(type));
  const at::Tensor lower = at::full({n, n}, 1, at::kDouble);
  add_product(lower, x.t(), x, 1, Triangle::kLower);
  CHECK(relative_error(at::tril(lower).add(at::triu(wanted, 1)), wanted) < tolerance(type));
}

TEST_CASE("matrix: the float64 square of float32 rows is that of the same rows in float64",
          "[shared]") {
  const UseInstructions use(each_form());
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
  CHECK(at::triu(made).equal(at::triu(same)));
}

TEST_CASE("matrix: one and two threads give the same bits", "[shared]") {
  const UseInstructions use(each_form());
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const at::Tensor a = matrix(1000, 300, false, type);
  const at::Tensor b = matrix(300, 700, false, type);
  const at::Tensor one = product(a, b);
  const at::Tensor triangle = at::full({1000, 1000}, 0, at::kDouble);
  add_product(triangle, a, a.t(), 1, Triangle::kUpper);
  const quench::test::HostThreads threads(2);
  CHECK(product(a, b).equal(one));
  const at::Tensor again = at::full({1000, 1000}, 0, at::kDouble);
  add_product(again, a, a.t(), 1, Triangle::kUpper);
  CHECK(at::triu(again).equal(at::triu(triangle)));
}

// What is made together must not matter: rows are batched differently from caller to caller. The
// numbers of rows are those of every kernel, and on both sides of what tasks and copies depend on.
TEST_CASE("matrix: the bits of a row do not depend on the rows beside it", "[shared]") {
  const UseInstructions use(each_form());
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble, at::kBFloat16);
  const int64_t depth = GENERATE(33, 520);
  const bool turned = GENERATE(false, true);
  CAPTURE(at::toString(type), depth, turned);
  const at::Tensor a = matrix(300, depth, false, at::kFloat).to(type);
  const at::Tensor b = matrix(depth, 260, turned, at::kFloat).to(type);
  const at::Tensor all = product(a, b);
  for (const int64_t rows : {1, 2, 3, 5, 8, 13, 14, 108, 109, 113, 200}) {
    CAPTURE(rows);
    CHECK(product(a.narrow(0, 50, rows), b).equal(all.narrow(0, 50, rows)));
  }
  for (const int64_t columns : {1, 7, 33, 200}) {
    CAPTURE(columns);
    CHECK(product(a, b.narrow(1, 50, columns)).equal(all.narrow(1, 50, columns)));
  }
}

TEST_CASE("matrix: AVX2 and AVX-512 give the same bits", "[shared]") {
  quench::test::skip_unless(available_instructions().back() >= QUENCH_INSTRUCTIONS_AVX512,
                            "this processor has no AVX-512");
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble, at::kBFloat16, at::kHalf);
  const int64_t rows = GENERATE(1, 37, 500);
  CAPTURE(at::toString(type), rows);
  const at::Tensor a = matrix(rows, 700, false, at::kFloat).to(type);
  const at::Tensor b = matrix(700, 129, true, at::kFloat).to(type);
  const auto made = [&](int32_t instructions) {
    const UseInstructions use(instructions);
    at::Tensor sums = at::full({rows, 129}, 0.5, at::kDouble);
    add_product(sums, a, b, 0.25);
    return std::pair(product(a, b), sums);
  };
  const auto narrow = made(QUENCH_INSTRUCTIONS_AVX2);
  const auto wide = made(QUENCH_INSTRUCTIONS_AVX512);
  CHECK(narrow.first.equal(wide.first));
  CHECK(narrow.second.equal(wide.second));
}

// Each form has a tile of its own, and of a tile on the diagonal all is written.
TEST_CASE("matrix: the form that the host names is the one that runs", "[shared]") {
  const at::Tensor x = matrix(10, 96, false, at::kFloat);
  std::vector<int64_t> written;
  for (const int32_t form : available_instructions()) {
    const UseInstructions use(form);
    const at::Tensor to = at::full({96, 96}, 0, at::kFloat);
    add_product(to, x.t(), x, 1, Triangle::kUpper);
    written.push_back(at::tril(to, -1).count_nonzero().item().toLong());
  }
  // Tiles of 6 x 8, 6 x 16 and 14 x 32.
  const std::vector<int64_t> wanted = {528, 912, 2000};
  CHECK(written ==
        std::vector<int64_t>(wanted.begin(),
                             wanted.begin() + static_cast<std::ptrdiff_t>(written.size())));
}

TEST_CASE("matrix: 16-bit products are float32 sums, rounded once", "[shared]") {
  const UseInstructions use(each_form());
  const at::ScalarType type = GENERATE(at::kBFloat16, at::kHalf);
  const at::Tensor a = matrix(37, 700, false, at::kFloat).to(type);
  const at::Tensor b = matrix(700, 50, true, at::kFloat).to(type);
  const at::Tensor bias = at::rand({50}).to(type);
  const at::Tensor sums = product(a.to(at::kFloat), b.to(at::kFloat));
  CHECK(product(a, b).equal(sums.to(type)));
  const at::Tensor to = at::empty({37, 50}, a.options());
  product_into(to, a, b, bias);
  CHECK(relative_error(to, wide(sums).add(wide(bias))) < tolerance(type));
  const at::Tensor wide_sums = at::full({37, 50}, 1, at::kFloat);
  add_product(wide_sums, a, b);
  CHECK(relative_error(wide_sums, wide(sums).add(1)) < tolerance(at::kFloat));
  const at::Tensor narrow_sums = at::full({37, 50}, 1, a.options());
  add_product(narrow_sums, a, b);
  CHECK(relative_error(narrow_sums, wide(sums).add(1)) < tolerance(type));
}

TEST_CASE("matrix: 16-bit numbers of every kind are read exactly", "[shared]") {
  const UseInstructions use(each_form());
  const at::ScalarType type = GENERATE(at::kBFloat16, at::kHalf);
  const at::Tensor all = at::arange(0, 1 << 16, at::kInt).to(at::kShort).view(type);
  const at::Tensor one = at::full({1, 1}, 1, at::kFloat).to(type);
  const at::Tensor got = at::full({1 << 16, 1}, 0, at::kFloat);
  add_product(got, all.unsqueeze(1), one);
  const at::Tensor wanted = all.to(at::kFloat).unsqueeze(1);
  CHECK(at::isnan(got).equal(at::isnan(wanted)));
  CHECK(at::where(at::isnan(got), at::zeros_like(got), got)
            .equal(at::where(at::isnan(wanted), at::zeros_like(wanted), wanted)));
}

TEST_CASE("matrix: operands and results may have any strides", "[shared]") {
  const UseInstructions use(each_form());
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble, at::kBFloat16);
  const auto spread = [&](int64_t rows, int64_t columns) {
    return at::rand({rows, columns, 2}).to(type).select(2, 0);
  };
  const at::Tensor a = spread(40, 300);
  const at::Tensor b = spread(300, 20);
  const at::Tensor wanted = product(a.contiguous(), b.contiguous());
  CHECK(product(a, b).equal(wanted));
  const at::Tensor to = spread(40, 20);
  product_into(to, a, b);
  CHECK(to.equal(wanted));
  const at::Tensor turned = at::empty({20, 40}, a.options());
  product_into(turned.t(), a, b);
  CHECK(turned.t().equal(wanted));
}

TEST_CASE("matrix: a product over nothing is its bias", "[shared]") {
  const at::Tensor a = at::empty({3, 0});
  const at::Tensor b = at::empty({0, 4});
  const at::Tensor bias = at::rand({4});
  const at::Tensor to = at::full({3, 4}, 7, at::kFloat);
  add_product(to, a, b);
  CHECK(to.equal(at::full({3, 4}, 7, at::kFloat)));
  product_into(to, a, b, bias);
  CHECK(to.equal(bias.expand({3, 4})));
  CHECK(product(a, b).equal(at::full({3, 4}, 0, at::kFloat)));
  CHECK(product(at::empty({0, 5}), at::empty({5, 2})).numel() == 0);
}

TEST_CASE("matrix: NaN and Inf reach their rows and columns, and no others", "[shared]") {
  const UseInstructions use(each_form());
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

TEST_CASE("matrix: operands of two types are refused", "[shared]") {
  const at::Tensor a = at::rand({4, 4});
  CHECK_THROWS_WITH(product(a, wide(a)),
                    "product: got Float times Double, wanted one floating-point type");
}
