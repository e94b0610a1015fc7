#include "models/decoder/causal_attention.hpp"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <catch2/catch.hpp>
#include <limits>
#include <utility>

#include "tests/support/host_threads.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

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
  Inputs(at::Tensor queries, at::Tensor keys, at::Tensor values)
      : q(std::move(queries)), k(std::move(keys)), v(std::move(values)) {}
  Inputs to(at::ScalarType type) const { return {q.to(type), k.to(type), v.to(type)}; }
};

at::Tensor reference(const Inputs& in) {
  const auto operand = [](const at::Tensor& x) { return x.to(at::kDouble).transpose(1, 2); };
  return at::scaled_dot_product_attention(operand(in.q), operand(in.k), operand(in.v), std::nullopt,
                                          0.0, true, std::nullopt, true)
      .transpose(1, 2);
}

// Each form that this processor can run, one after the other.
int32_t each_form() {
  return GENERATE(from_range(available_instructions()));
}

}  // namespace

// Lengths around a tile, a block of queries and a block of keys; widths that fill no panel.
TEST_CASE("causal attention: it is libtorch's in float64", "[models][decoder]") {
  const Shape shape =
      GENERATE(Shape{1, 1, 1, 1, 64}, Shape{2, 13, 4, 2, 33}, Shape{1, 112, 2, 2, 64},
               Shape{2, 113, 3, 1, 80}, Shape{1, 256, 2, 1, 8}, Shape{1, 257, 2, 2, 64},
               Shape{1, 700, 2, 1, 96});
  const double spread = GENERATE(1, 8);  // 8: nearly all of the weight on one key
  const int32_t form = each_form();
  const UseInstructions use(form);
  CAPTURE(form, shape.length, shape.width, spread);
  const Inputs in(shape, spread);
  const at::Tensor got = decoder::causal_attention(in.q, in.k, in.v);
  const at::Tensor wanted = reference(in);
  // Scores of size spread^2 are rounded to float32.
  CHECK(got.to(at::kDouble).sub(wanted).abs().max().item().toDouble() <
        4e-6 * spread * spread * spread);
  const Inputs wide = in.to(at::kDouble);
  // As above, with the unit of float64.
  CHECK(
      decoder::causal_attention(wide.q, wide.k, wide.v).sub(wanted).abs().max().item().toDouble() <
      8e-15 * spread * spread * spread);
}

TEST_CASE("causal attention: what comes later changes no bit", "[models][decoder]") {
  const UseInstructions use(each_form());
  const Inputs in({1, 400, 2, 1, 64});
  const at::Tensor all = decoder::causal_attention(in.q, in.k, in.v);
  for (const int64_t length : {1, 100, 256, 300}) {
    const auto part = [length](const at::Tensor& x) { return x.narrow(1, 0, length); };
    CHECK(decoder::causal_attention(part(in.q), part(in.k), part(in.v)).equal(part(all)));
  }
}

TEST_CASE("causal attention: one and two threads give the same bits", "[models][decoder]") {
  const UseInstructions use(each_form());
  const Inputs in({2, 300, 4, 2, 64});
  const at::Tensor one = decoder::causal_attention(in.q, in.k, in.v);
  const HostThreads threads(2);
  CHECK(decoder::causal_attention(in.q, in.k, in.v).equal(one));
}

TEST_CASE("causal attention: a NaN reaches what sees it", "[models][decoder]") {
  const UseInstructions use(each_form());
  Inputs in({1, 300, 1, 1, 64});
  in.k.select(1, 280).fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor got = decoder::causal_attention(in.q, in.k, in.v);
  CHECK(got.narrow(1, 280, 20).isnan().all().item().toBool());
  CHECK_FALSE(got.narrow(1, 0, 256).isnan().any().item().toBool());
}

TEST_CASE("causal attention: AVX2 and AVX-512 give the same bits", "[models][decoder]") {
  skip_unless(available_instructions().back() >= QUENCH_INSTRUCTIONS_AVX512,
              "this processor has no AVX-512");
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const Inputs in = Inputs({2, 300, 4, 2, 72}).to(type);
  const auto made = [&](int32_t instructions) {
    const UseInstructions use(instructions);
    return decoder::causal_attention(in.q, in.k, in.v);
  };
  CHECK(made(QUENCH_INSTRUCTIONS_AVX2).equal(made(QUENCH_INSTRUCTIONS_AVX512)));
}

TEST_CASE("causal attention: the portable form is another one", "[models][decoder]") {
  skip_unless(available_instructions().size() > 1, "this processor has no other form");
  const Inputs in({1, 300, 2, 2, 64});
  const auto made = [&](int32_t instructions) {
    const UseInstructions use(instructions);
    return decoder::causal_attention(in.q, in.k, in.v);
  };
  CHECK_FALSE(made(QUENCH_INSTRUCTIONS_PORTABLE).equal(made(available_instructions().back())));
}

TEST_CASE("causal attention: 16-bit floats are computed in float32 and rounded once",
          "[models][decoder]") {
  const UseInstructions use(each_form());
  const Inputs in = Inputs({1, 130, 2, 1, 64}).to(at::kBFloat16);
  const Inputs wide = in.to(at::kFloat);
  CHECK(decoder::causal_attention(in.q, in.k, in.v)
            .equal(decoder::causal_attention(wide.q, wide.k, wide.v).to(at::kBFloat16)));
}

TEST_CASE("causal attention: heads may lie anywhere", "[models][decoder]") {
  const Inputs in({1, 50, 2, 1, 16});
  const auto turned = [](const at::Tensor& x) {
    return x.transpose(2, 3).contiguous().transpose(2, 3);
  };
  CHECK(decoder::causal_attention(turned(in.q), turned(in.k), turned(in.v))
            .equal(decoder::causal_attention(in.q, in.k, in.v)));
}

}  // namespace quench::test
