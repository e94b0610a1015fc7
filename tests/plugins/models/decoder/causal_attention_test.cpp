#include "models/decoder/causal_attention.hpp"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <catch2/catch.hpp>
#include <limits>

#include "shared/matrix/product.hpp"
#include "tests/plugins/quantizers/two_threads.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

const InstalledHost host;
const bool seeded = (at::manual_seed(1), true);  // libtorch's own seed is another one every time

struct Shape {
  int64_t rows;
  int64_t length;
  int64_t heads;
  int64_t key_heads;
  int64_t width;
};

// Queries, keys and values as one linear makes them, side by side for each token.
struct Inputs {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  explicit Inputs(const Shape& s, double spread = 1) {
    const at::Tensor all =
        at::randn({s.rows, s.length, s.heads + 2 * s.key_heads, s.width}, at::kFloat).mul_(spread);
    q = all.narrow(2, 0, s.heads);
    k = all.narrow(2, s.heads, s.key_heads);
    v = all.narrow(2, s.heads + s.key_heads, s.key_heads);
  }
};

at::Tensor reference(const Inputs& in) {
  const auto operand = [](const at::Tensor& x) { return x.to(at::kDouble).transpose(1, 2); };
  return at::scaled_dot_product_attention(operand(in.q), operand(in.k), operand(in.v), std::nullopt,
                                          0.0, true, std::nullopt, true)
      .transpose(1, 2);
}

bool skipped() {
  if (!matrix::has_processor()) {
    WARN("attention is libtorch's on this processor: skipped");
  }
  return !matrix::has_processor();
}

}  // namespace

// Lengths around a tile, a block of queries and a block of keys; widths that fill no panel.
TEST_CASE("causal attention: it is libtorch's in float64", "[models][decoder]") {
  const Shape shape =
      GENERATE(Shape{1, 1, 1, 1, 64}, Shape{2, 13, 4, 2, 33}, Shape{1, 112, 2, 2, 64},
               Shape{2, 113, 3, 1, 80}, Shape{1, 256, 2, 1, 8}, Shape{1, 257, 2, 2, 64},
               Shape{1, 700, 2, 1, 96});
  const double spread = GENERATE(1, 8);  // 8: nearly all of the weight on one key
  CAPTURE(shape.length, shape.width, spread);
  if (skipped()) {
    return;
  }
  const Inputs in(shape, spread);
  REQUIRE(decoder::has_causal_attention(in.q, in.k, in.v));
  const at::Tensor got = decoder::causal_attention(in.q, in.k, in.v);
  const at::Tensor wanted = reference(in);
  // Scores of size spread^2 are rounded to float32.
  CHECK(got.to(at::kDouble).sub(wanted).abs().max().item().toDouble() <
        4e-6 * spread * spread * spread);
}

TEST_CASE("causal attention: what comes later changes no bit", "[models][decoder]") {
  if (skipped()) {
    return;
  }
  const Inputs in({1, 400, 2, 1, 64});
  const at::Tensor all = decoder::causal_attention(in.q, in.k, in.v);
  for (const int64_t length : {1, 100, 256, 300}) {
    const auto part = [length](const at::Tensor& x) { return x.narrow(1, 0, length); };
    CHECK(decoder::causal_attention(part(in.q), part(in.k), part(in.v)).equal(part(all)));
  }
}

TEST_CASE("causal attention: one and two threads give the same bits", "[models][decoder]") {
  if (skipped()) {
    return;
  }
  const Inputs in({2, 300, 4, 2, 64});
  const at::Tensor one = decoder::causal_attention(in.q, in.k, in.v);
  const TwoThreads threads;
  CHECK(decoder::causal_attention(in.q, in.k, in.v).equal(one));
}

TEST_CASE("causal attention: a NaN reaches what sees it", "[models][decoder]") {
  if (skipped()) {
    return;
  }
  Inputs in({1, 300, 1, 1, 64});
  in.k.select(1, 280).fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor got = decoder::causal_attention(in.q, in.k, in.v);
  CHECK(got.narrow(1, 280, 20).isnan().all().item().toBool());
  CHECK_FALSE(got.narrow(1, 0, 256).isnan().any().item().toBool());
}

TEST_CASE("causal attention: other types are libtorch's", "[models][decoder]") {
  const Inputs in({1, 20, 1, 1, 64});
  const at::Tensor wide = in.q.to(at::kDouble);
  CHECK_FALSE(decoder::has_causal_attention(wide, wide, wide));
}

}  // namespace quench::test
