#include "models/decoder/product.hpp"

#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>

#include <catch2/catch.hpp>

#include "tests/plugins/quantizers/two_threads.hpp"
#include "tests/support/test_host.hpp"

using quench::decoder::add_product_to;
using quench::decoder::has_kernel_for;
using quench::decoder::product;

namespace {

const quench::test::InstalledHost host;

// Sums of up to a thousand numbers in [0, 1) in float32 against float64.
constexpr double kRelative = 2e-6;

struct Sizes {
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

// A matrix of that shape, in C order or as the transpose of one.
at::Tensor matrix(int64_t rows, int64_t columns, bool turned) {
  return turned ? at::rand({columns, rows}).t() : at::rand({rows, columns});
}

double relative_error(const at::Tensor& got, const at::Tensor& wanted) {
  return got.to(at::kDouble).sub(wanted).abs().div(wanted).max().item().toDouble();
}

}  // namespace

// Sizes that are no multiples of a tile, a vector or a panel, and depths of more than one panel.
TEST_CASE("product: it is libtorch's in float64, for every layout and size", "[models][decoder]") {
  const Sizes sizes = GENERATE(Sizes{1, 40, 1000}, Sizes{13, 257, 31}, Sizes{14, 256, 32},
                               Sizes{15, 700, 33}, Sizes{130, 96, 49}, Sizes{4096, 24, 17});
  const bool a_turned = GENERATE(false, true);
  const bool b_turned = GENERATE(false, true);
  CAPTURE(sizes.rows, sizes.depth, sizes.columns, a_turned, b_turned);
  const at::Tensor a = matrix(sizes.rows, sizes.depth, a_turned);
  const at::Tensor b = matrix(sizes.depth, sizes.columns, b_turned);
  const at::Tensor wanted = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  CHECK(relative_error(product(a, b), wanted) < kRelative);
  at::Tensor sum = at::rand({sizes.rows, sizes.columns});
  const at::Tensor before = sum.to(at::kDouble);
  add_product_to(sum, a, b);
  CHECK(relative_error(sum, before.add(wanted)) < kRelative);
}

TEST_CASE("product: columns of b that do not fit at once give the same", "[models][decoder]") {
  const at::Tensor a = at::rand({20, 700});
  const at::Tensor b = at::rand({700, 3000});
  CHECK(relative_error(product(a, b), at::mm(a.to(at::kDouble), b.to(at::kDouble))) < kRelative);
}

TEST_CASE("product: one and two threads give the same bits", "[models][decoder]") {
  const at::Tensor a = at::rand({1000, 300});
  const at::Tensor b = at::rand({300, 200});
  const at::Tensor one = product(a, b);
  const quench::test::TwoThreads threads;
  CHECK(product(a, b).equal(one));
}

TEST_CASE("product: what is no float32 is libtorch's", "[models][decoder]") {
  const at::Tensor a = at::rand({40, 40}, at::TensorOptions(at::kDouble));
  CHECK_FALSE(has_kernel_for(a, a));
  CHECK(product(a, a).equal(at::mm(a, a)));
}
