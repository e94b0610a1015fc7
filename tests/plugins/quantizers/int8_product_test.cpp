#include <catch2/catch.hpp>
#include <random>

#include "quantizers/int8/product.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using quantizers::Int8Matrix;

std::vector<int8_t> random_codes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int8_t> codes(count);
  for (int8_t& code : codes) {
    code = static_cast<int8_t>(static_cast<int>(random() % 256) - 128);
  }
  return codes;
}

std::vector<int32_t> collected(int64_t rows, int64_t columns,
                               const std::function<void(const quantizers::TakeRow&)>& multiply) {
  std::vector<int32_t> out(static_cast<size_t>(rows * columns), -1);
  multiply([&](int64_t row, std::span<const int32_t> sums) {
    std::copy(sums.begin(), sums.end(), out.begin() + row * columns);
  });
  return out;
}

}  // namespace

TEST_CASE("every int8 kernel gives the plain kernel's sums", "[quantizers][int8]") {
  linked_item();  // installs the host
  CHECK(quantizers::int8_kernels().front() == quantizers::Int8Kernel::kPortable);
  struct Shape {
    int64_t rows, columns, inner;
  };
  for (const auto [rows, columns, inner] :
       {Shape{1, 1, 1}, Shape{5, 3, 63}, Shape{4, 4, 64}, Shape{70, 9, 130}, Shape{3, 130, 257}}) {
    const auto a = random_codes(static_cast<size_t>(rows * inner), 1);
    const auto b = random_codes(static_cast<size_t>(columns * inner), 2);
    const auto expected = collected(rows, columns, [&](const quantizers::TakeRow& take) {
      quantizers::multiply_plain(a, b, inner, take);
    });
    for (const auto kernel : quantizers::int8_kernels()) {
      const Int8Matrix matrix(b, columns, inner, kernel);
      CHECK(collected(rows, columns, [&](const quantizers::TakeRow& take) {
              matrix.multiply(a, take);
            }) == expected);
    }
  }
}

TEST_CASE("the chosen int8 kernel keeps to the host's instruction set", "[quantizers][int8]") {
  linked_item();
  const auto chosen = [](int32_t instructions) {
    const UseInstructions use(instructions);
    return quantizers::chosen_int8_kernel();
  };
  CHECK(chosen(QUENCH_INSTRUCTIONS_PORTABLE) == quantizers::Int8Kernel::kPortable);
  if (available_instructions().back() >= QUENCH_INSTRUCTIONS_AVX2) {
    CHECK(chosen(QUENCH_INSTRUCTIONS_AVX2) == quantizers::Int8Kernel::kAvx2);
  }
  CHECK(chosen(available_instructions().back()) == quantizers::int8_kernels().back());
}

// Float sums would be off here: 127 * 127 * 4096 > 2^24.
TEST_CASE("int8 sums of extremes are exact", "[quantizers][int8]") {
  linked_item();
  constexpr int64_t kInner = 4096;
  std::vector<int8_t> a(kInner, 127);
  std::vector<int8_t> b(kInner, 127);
  a[0] = 126;
  for (const auto kernel : quantizers::int8_kernels()) {
    const Int8Matrix matrix(b, 1, kInner, kernel);
    CHECK(collected(1, 1, [&](const quantizers::TakeRow& take) { matrix.multiply(a, take); })[0] ==
          127 * 127 * 4096 - 127);
  }
}

}  // namespace quench::test
