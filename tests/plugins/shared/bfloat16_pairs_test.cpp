// Products of bfloat16 by VDPBF16PS beside a plain emulation of the instruction, which runs
// anywhere.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "shared/matrix/kernel.hpp"
#include "shared/matrix/product.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/test_host.hpp"

using quench::matrix::add_product;
using quench::matrix::product;
using quench::matrix::product_into;
using quench::matrix::Triangle;
using quench::test::UseInstructions;

namespace {

constexpr float kLeast = std::numeric_limits<float>::min();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// ---- the emulation

float widened(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float flushed(float x) {
  return std::abs(x) < kLeast ? std::copysign(0.0F, x) : x;
}

// sum + x y, rounded once to nearest even. Subnormal operands are 0, and so is a result that is
// subnormal after it was rounded as if exponents had no end.
float accumulated(float sum, uint16_t x, uint16_t y) {
  const float a = flushed(widened(x));
  const float b = flushed(widened(y));
  const float c = flushed(sum);
  const float made = std::fma(a, b, c);
  if (std::abs(made) == kLeast) {  // 2^-126, to which more is rounded where subnormals end
    constexpr double kHalfway = 0x1p-126 - 0x1p-151;
    const double exact = static_cast<double>(a) * b + c;
    return std::abs(exact) < kHalfway ? std::copysign(0.0F, made) : made;
  }
  return flushed(made);
}

// Of a lane: the numbers in the upper halves come first.
float dot(float sum, uint16_t x0, uint16_t x1, uint16_t y0, uint16_t y1) {
  return accumulated(accumulated(sum, x1, y1), x0, y0);
}

uint16_t bits_at(const at::Tensor& x, int64_t row, int64_t column) {
  const auto* from = static_cast<const uint16_t*>(x.const_data_ptr());
  return from[row * x.stride(0) + column * x.stride(1)];
}

// a · b in float32, in the order of kernel.hpp: sums of kDepth pairs, which are added up.
at::Tensor emulated(const at::Tensor& a, const at::Tensor& b) {
  const int64_t depth = a.size(1);
  at::Tensor to = at::empty({a.size(0), b.size(1)}, at::kFloat);
  auto* value = to.mutable_data_ptr<float>();
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (int64_t j = 0; j < b.size(1); ++j, ++value) {
      *value = 0;
      for (int64_t first = 0; first < depth; first += 2 * quench::matrix::kDepth) {
        float sum = 0;
        for (int64_t k = first; k < std::min(depth, first + 2 * quench::matrix::kDepth); k += 2) {
          const bool pair = k + 1 < depth;
          sum = dot(sum, bits_at(a, i, k), pair ? bits_at(a, i, k + 1) : uint16_t{0},
                    bits_at(b, k, j), pair ? bits_at(b, k + 1, j) : uint16_t{0});
        }
        *value += sum;
      }
    }
  }
  return to;
}

// ---- the kernels

at::Tensor multiplied(const at::Tensor& a, const at::Tensor& b) {
  const UseInstructions use(QUENCH_INSTRUCTIONS_AVX512_BF16);
  const at::Tensor to = at::empty({a.size(0), b.size(1)}, at::kFloat);
  product_into(to, a, b);
  return to;
}

void need_instruction() {
  quench::test::skip_unless(quench::test::has_avx512_bf16(), "this processor has no AVX512-BF16");
}

// The same bits, but for which NaN it is.
void check_same(const at::Tensor& got, const at::Tensor& wanted) {
  REQUIRE(got.sizes() == wanted.sizes());
  const auto* x = static_cast<const uint32_t*>(got.const_data_ptr());
  const auto* y = static_cast<const uint32_t*>(wanted.const_data_ptr());
  int64_t different = 0;
  for (int64_t i = 0; i < got.numel(); ++i) {
    const bool nan =
        std::isnan(std::bit_cast<float>(x[i])) && std::isnan(std::bit_cast<float>(y[i]));
    if (x[i] != y[i] && !nan && ++different == 1) {
      CAPTURE(i, got.size(1), std::bit_cast<float>(x[i]), std::bit_cast<float>(y[i]));
      CHECK(x[i] == y[i]);
    }
  }
  CHECK(different == 0);
}

// In C order or as the transpose of it, with `gap` numbers between rows. Of both signs.
at::Tensor numbers(int64_t rows, int64_t columns, bool turned, int64_t gap = 0) {
  const at::Tensor wide =
      turned ? at::rand({columns, rows + gap}) : at::rand({rows, columns + gap});
  const at::Tensor held = wide.sub(0.4).to(at::kBFloat16);
  return turned ? held.narrow(1, 0, rows).t() : held.narrow(1, 0, columns);
}

at::Tensor of_bits(const std::vector<uint16_t>& bits, int64_t rows) {
  at::Tensor to = at::empty({static_cast<int64_t>(bits.size())}, at::kBFloat16);
  std::copy(bits.begin(), bits.end(), static_cast<uint16_t*>(to.mutable_data_ptr()));
  return to.view({rows, -1});
}

// Zeros, subnormal and least normal numbers, such as overflow, infinities and NaN, of both signs.
std::vector<uint16_t> special_numbers() {
  std::vector<uint16_t> out;
  for (const uint16_t bits : {0x0000, 0x0001, 0x007F, 0x0080, 0x0081, 0x1F80, 0x2000, 0x2001,
                              0x3F80, 0x3F81, 0x5F80, 0x7F00, 0x7F7F, 0x7F80, 0x7FC0}) {
    out.push_back(bits);
    out.push_back(static_cast<uint16_t>(bits | 0x8000));
  }
  return out;
}

}  // namespace

TEST_CASE("pairs of bfloat16: the emulation's sums are those worked out by hand", "[shared]") {
  constexpr uint16_t kOne = 0x3F80;
  // Both products, the second one first: 2^25 - 2^25 + 1 is 1, and 1 + 2^25 - 2^25 would be 0.
  CHECK(dot(-0x1p25F, kOne, 0x4C00, kOne, kOne) == 1.0F);
  CHECK(dot(-0x1p25F, 0x4C00, kOne, kOne, kOne) == 0.0F);
  // Half a last place goes to the even neighbour.
  CHECK(dot(0x1p24F, kOne, 0, kOne, 0) == 0x1p24F);
  CHECK(dot(0x1p24F + 2, kOne, 0, kOne, 0) == 0x1p24F + 4);
  // A product keeps all its digits: (1 + 2^-7)^2 - 1 = 2^-6 + 2^-14.
  CHECK(dot(-1, 0x3F81, 0, 0x3F81, 0) == 0x1p-6F + 0x1p-14F);
  // Subnormal numbers are 0: operands, sums that enter and sums that leave, with their sign.
  CHECK(dot(0, 0x007F, 0, 0x7F00, 0) == 0.0F);
  CHECK(dot(0x1p-127F, 0, 0, 0, 0) == 0.0F);
  CHECK(std::signbit(dot(0, 0x8080, 0, 0x3F00, 0)));  // -2^-127
  CHECK(dot(0, 0x0080, 0, kOne, 0) == kLeast);
  // 2^-126 - 2^-150 has 24 digits, so it is subnormal; 2^-126 - 2^-152 is rounded up before.
  CHECK(dot(kLeast, 0x1F80, 0, 0x9480, 0) == 0.0F);
  CHECK(dot(kLeast, 0x1F80, 0, 0x9380, 0) == kLeast);
  CHECK(dot(0x1.fffffep127F, 0x7F7F, 0, kOne, 0) == kInfinity);
  CHECK(std::isnan(dot(0, 0x7F80, 0, 0x0001, 0)));
  CHECK(std::isnan(dot(kNaN, kOne, kOne, kOne, kOne)));
  CHECK(std::isnan(dot(kInfinity, 0xFF80, 0, kOne, 0)));
}

TEST_CASE("pairs of bfloat16: products are the emulation's to the last bit, for every depth to 65",
          "[shared]") {
  need_instruction();
  const int64_t depth = GENERATE(range(1, 66));
  const bool a_turned = GENERATE(false, true);
  const bool b_turned = GENERATE(false, true);
  CAPTURE(depth, a_turned, b_turned);
  for (const int64_t rows : {1, 3, 14, 29}) {
    for (const int64_t columns : {15, 65}) {
      for (const int64_t gap : {0, 1}) {
        CAPTURE(rows, columns, gap);
        const at::Tensor a = numbers(rows, depth, a_turned, gap);
        const at::Tensor b = numbers(depth, columns, b_turned, gap);
        check_same(multiplied(a, b), emulated(a, b));
      }
    }
  }
}

TEST_CASE("pairs of bfloat16: products are the emulation's over several panels, too", "[shared]") {
  need_instruction();
  const int64_t depth = GENERATE(511, 512, 513, 1025, 2100);
  const int64_t rows = GENERATE(1, 14, 31);
  const bool turned = GENERATE(false, true);
  CAPTURE(depth, rows, turned);
  const at::Tensor a = numbers(rows, depth, turned);
  const at::Tensor b = numbers(depth, 70, !turned);
  check_same(multiplied(a, b), emulated(a, b));
}

// Of each element two pairs: a sum, which is one number times 1, and two products.
TEST_CASE("pairs of bfloat16: products of special numbers are the emulation's", "[shared]") {
  need_instruction();
  const std::vector<uint16_t> special = special_numbers();
  const uint16_t sum = GENERATE(from_range(special_numbers()));
  CAPTURE(sum);
  std::vector<uint16_t> left;
  std::vector<uint16_t> right;
  for (const uint16_t x : special) {
    for (const uint16_t y : special) {
      left.insert(left.end(), {sum, 0, x, y});
      if (((x | y) & 0x8000) == 0) {  // signs are on the left
        right.insert(right.end(), {0x3F80, 0, x, y});
      }
    }
  }
  const at::Tensor a = of_bits(left, static_cast<int64_t>(left.size() / 4));
  const at::Tensor b = of_bits(right, static_cast<int64_t>(right.size() / 4)).t();
  check_same(multiplied(a, b), emulated(a, b));
}

TEST_CASE("pairs of bfloat16: numbers of any bits are multiplied as the emulation does",
          "[shared]") {
  need_instruction();
  const auto random = [](int64_t rows, int64_t columns, int64_t low, int64_t high) {
    return at::randint(low, high, {rows, columns}, at::kInt).to(at::kShort).view(at::kBFloat16);
  };
  // Numbers about 2^-63, whose products end where subnormals begin, and any.
  const auto [low, high] = GENERATE(std::pair(0x1E00, 0x2180), std::pair(0, 0x10000));
  const at::Tensor a = random(300, 6, low, high);
  const at::Tensor b = random(6, 300, low, high);
  check_same(multiplied(a, b), emulated(a, b));
  check_same(multiplied(a.neg(), b), emulated(a.neg(), b));
}

TEST_CASE("pairs of bfloat16: threads and what is multiplied beside a row change no bit",
          "[shared]") {
  need_instruction();
  const bool turned = GENERATE(false, true);
  const int64_t depth = GENERATE(33, 1100);
  CAPTURE(turned, depth);
  const at::Tensor a = numbers(300, depth, false);
  const at::Tensor b = numbers(depth, 260, turned);
  const at::Tensor all = multiplied(a, b);
  for (const int64_t rows : {1, 2, 3, 5, 8, 13, 14, 108, 109, 113, 200}) {
    CAPTURE(rows);
    CHECK(multiplied(a.narrow(0, 50, rows), b).equal(all.narrow(0, 50, rows)));
  }
  for (const int64_t columns : {1, 7, 33, 200}) {
    CAPTURE(columns);
    CHECK(multiplied(a, b.narrow(1, 50, columns)).equal(all.narrow(1, 50, columns)));
  }
  const quench::test::HostThreads threads(GENERATE(2, 3));
  CHECK(multiplied(a, b).equal(all));
}

TEST_CASE("pairs of bfloat16: bias, sums, factor and triangle are those of other products",
          "[shared]") {
  need_instruction();
  const at::Tensor a = numbers(137, 700, false);
  const at::Tensor b = numbers(700, 137, true);
  const at::Tensor sums = multiplied(a, b);
  const at::Tensor bias = at::rand({137}).to(at::kBFloat16);
  const UseInstructions use(QUENCH_INSTRUCTIONS_AVX512_BF16);
  CHECK(product(a, b).equal(sums.to(at::kBFloat16)));
  const at::Tensor to = at::empty({137, 137}, at::kFloat);
  product_into(to, a, b, bias);
  CHECK(to.sub(sums.add(bias.to(at::kFloat))).abs().max().item().toFloat() < 1e-4F);
  const at::Tensor added = at::full({137, 137}, 1, at::kFloat);
  add_product(added, a, b, 0.5);
  CHECK(added.sub(sums.mul(0.5).add(1)).abs().max().item().toFloat() < 1e-4F);
  const at::Tensor upper = at::full({137, 137}, 0, at::kFloat);
  add_product(upper, a, b, 1, Triangle::kUpper);
  CHECK(upper.triu().equal(sums.triu()));
}

// Relative to the norm of the result. The operands are the same, so only the sums differ.
TEST_CASE("pairs of bfloat16: sums are as near to the exact ones as those of float32", "[shared]") {
  need_instruction();
  const at::Tensor a = numbers(64, 2048, false);
  const at::Tensor b = numbers(2048, 64, true);
  const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  const auto error = [&](const at::Tensor& got) {
    return got.to(at::kDouble).sub(exact).norm().div(exact.norm()).item().toDouble();
  };
  const UseInstructions use(QUENCH_INSTRUCTIONS_AVX512);
  const at::Tensor widened_first = at::empty({64, 64}, at::kFloat);
  product_into(widened_first, a, b);
  CHECK_FALSE(multiplied(a, b).equal(widened_first));
  CHECK(error(multiplied(a, b)) < 2 * error(widened_first));
}

TEST_CASE("pairs of bfloat16: products of other types are those of AVX-512", "[shared]") {
  need_instruction();
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble, at::kHalf);
  const at::Tensor a = at::rand({50, 300}).to(type);
  const at::Tensor b = at::rand({300, 70}).to(type);
  const auto made = [&](int32_t instructions) {
    const UseInstructions use(instructions);
    return product(a, b);
  };
  CHECK(made(QUENCH_INSTRUCTIONS_AVX512_BF16).equal(made(QUENCH_INSTRUCTIONS_AVX512)));
}
