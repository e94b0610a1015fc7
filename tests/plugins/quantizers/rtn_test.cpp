#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/host_threads.hpp"

namespace quench::test {

namespace {

std::vector<int> codes_of(const Quantized& result) {
  return {result.codes.begin(), result.codes.end()};
}

}  // namespace

// Row 0 spans -1..2: scale 3/3 = 1, zero 1. Row 1 spans 0..6: scale 2, zero 0; 3 and 5 lie between
// two values, and half goes to even: 3/2 = 1.5 -> 2, 5/2 = 2.5 -> 2. Row 2 spans -3..0.
TEST_CASE("rtn rounds to the asymmetric grid of a row", "[quantizers][rtn]") {
  QuantizerBench bench(R"({"bits":2,"group_size":-1,"sym":false})", 4);
  const Quantized result =
      bench.quantize(matrix({{-1, 0.4, 0.6, 2}, {3, 5, 6, 1.9}, {-3, -0.6, -0.4, -2}}));
  REQUIRE(result.status == QUENCH_OK);
  CHECK(codes_of(result) == std::vector<int>{0, 1, 2, 3, 2, 2, 3, 1, 0, 2, 3, 1});
  CHECK(result.scales == std::vector<double>{1, 2, 1});
  CHECK(result.zeros == std::vector<double>{1, 0, 3});
  CHECK(result.dequantized.values == std::vector<double>{-1, 0, 1, 2, 4, 4, 6, 2, -3, -1, 0, -2});
  CHECK(result.g_idx == std::vector<int32_t>{0, 0, 0, 0});
  // 2 bits a code; a scale of 16 bits and a zero of 2 for 4 weights.
  CHECK(result.numbers.at("bits_per_weight") == Approx(2 + 18.0 / 4));
}

// 3 bits: a = 7, scale = 14 / 7 = 2, zero 4. 7 / 2 = 3.5 -> 4, + 4 = 8, clipped to 7; -7 -> -3.5 ->
// -4 -> 0. A row without negatives has scale 7 / 7 = 1 with the same zero and clips at 3.
TEST_CASE("rtn rounds to the symmetric grid of a row", "[quantizers][rtn]") {
  QuantizerBench bench(R"({"bits":3,"group_size":-1,"sym":true})", 3);
  const Quantized result = bench.quantize(matrix({{7, -1.2, -3.1}, {-7, 2.2, 0}, {7, 2.2, 0}}));
  CHECK(codes_of(result) == std::vector<int>{7, 3, 2, 0, 5, 4, 7, 6, 4});
  CHECK(result.scales == std::vector<double>{2, 2, 1});
  CHECK(result.zeros == std::vector<double>{4, 4, 4});
  CHECK(result.dequantized.values == std::vector<double>{6, -2, -4, -8, 2, 0, 3, 2, 0});
  CHECK(result.numbers.at("bits_per_weight") == Approx(3 + 16.0 / 3));
}

TEST_CASE("rtn cuts a row into groups, the last may be short", "[quantizers][rtn]") {
  QuantizerBench bench(R"({"bits":2,"group_size":2,"sym":false})", 5);
  const Quantized result = bench.quantize(matrix({{3, 1, 30, 10, -6}, {0, 0, 0, 0, 0}}));
  CHECK(result.g_idx == std::vector<int32_t>{0, 0, 1, 1, 2});
  CHECK(codes_of(result) == std::vector<int>{3, 1, 3, 1, 0, 2, 2, 2, 2, 2});
  CHECK(result.scales == std::vector<double>{1, 10, 2, 2.0 / 3, 2.0 / 3, 2.0 / 3});
  CHECK(result.dequantized.values == std::vector<double>{3, 1, 30, 10, -6, 0, 0, 0, 0, 0});

  QuantizerBench wide(R"({"bits":2,"group_size":128,"sym":false})", 5);
  CHECK(wide.quantize(matrix({{3, 1, 30, 10, -6}})).scales.size() == 1);
}

TEST_CASE("rtn is at most half a step off", "[quantizers][rtn]") {
  const int bits = GENERATE(2, 3, 4, 5, 6, 7, 8);
  const bool float64 = GENERATE(false, true);
  QuantizerBench bench(R"({"sym":false,"group_size":24,"bits":)" + std::to_string(bits) + "}", 100);
  const Matrix weight = random_matrix(30, 100, 5);
  const Quantized result = bench.quantize(weight, 0, float64);
  const Matrix decoded = result.decoded();
  for (int64_t r = 0; r < 30; ++r) {
    for (int64_t c = 0; c < 100; ++c) {
      const double scale = result.scales[static_cast<size_t>(r * 5 + c / 24)];
      // Half a step, and another half at the ends, where the zero point was rounded.
      REQUIRE(std::fabs(weight(r, c) - decoded(r, c)) <= scale * (1 + 1e-9));
      REQUIRE(result.dequantized(r, c) ==
              (float64 ? decoded(r, c) : static_cast<double>(static_cast<float>(decoded(r, c)))));
    }
  }
}

TEST_CASE("rtn has the same bits for one and two threads", "[quantizers][rtn]") {
  QuantizerBench bench("{}", 300);
  const Matrix weight = random_matrix(100, 300, 6);
  const Quantized one = bench.quantize(weight);
  const HostThreads host(2);
  const Quantized two = bench.quantize(weight);
  CHECK(differences(one.codes, two.codes) == "");
  CHECK(differences(one.scales, two.scales) == "");
}

// G of the rows (1, 2), (3, 4) is [[10, 14], [14, 20]]; the row (1, 1) of a weight has (1 1) G (1
// 1)' = 58. With bits 2, asymmetric, (0.4, 3) becomes (0, 3): the error is 0.4^2 * 10 = 1.6.
TEST_CASE("rtn lets the host ask for the output error", "[quantizers][rtn]") {
  QuantizerBench bench(R"({"bits":2,"sym":false,"group_size":-1})", 2);
  CHECK(bench.needs() == (QUENCH_USES_ROWS | QUENCH_TAKES_DEVICE_WEIGHTS));
  kit::OwnedTensor<double> weight({1, 2});
  kit::OwnedTensor<double> result({1, 2});
  quench_tensor w = weight.view();
  quench_tensor q = result.view();
  double squared = -1;
  double whole = -1;
  quench_error error{sizeof error, 0, {}};
  CHECK(bench.gram().output_error(bench.quantizer(), bench.state(), &w, &q, &squared, &whole,
                                  &error) == QUENCH_FAILED_PRECONDITION);
  REQUIRE(bench.observe(matrix({{1, 2}, {3, 4}})) == QUENCH_OK);
  weight.values() = {0.4, 3};
  result.values() = bench.quantize(matrix({{0.4, 3}}), 0, true).dequantized.values;
  q = result.view();
  REQUIRE(bench.gram().output_error(bench.quantizer(), bench.state(), &w, &q, &squared, &whole,
                                    &error) == QUENCH_OK);
  CHECK(squared == Approx(1.6).epsilon(1e-12));
  CHECK(whole == Approx(0.16 * 10 + 2 * 0.4 * 3 * 14 + 9 * 20).epsilon(1e-12));

  quench_tensor gram{};
  double rows = 0;
  REQUIRE(bench.gram().gram_get(bench.quantizer(), bench.state(), &gram, &rows, &error) ==
          QUENCH_OK);
  CHECK(rows == 2);
  CHECK(kit::to_doubles(gram, "gram") == std::vector<double>{10, 14, 14, 20});
}

TEST_CASE("rtn says what is wrong", "[quantizers][rtn]") {
  QuantizerBench bench("{}", 4);
  Matrix weight = random_matrix(3, 4, 1);
  weight(1, 3) = std::numeric_limits<double>::infinity();
  const Quantized result = bench.quantize(weight);
  CHECK(result.status == QUENCH_NUMERICAL);
  CHECK(result.error == "linear0: weight[1, 3] is inf");
  const Quantized huge = bench.quantize(matrix({{1e308, -1e308, 0, 1}}), 0, true);
  CHECK(huge.status == QUENCH_NUMERICAL);
  CHECK(huge.error == "linear0: the range of row 0 overflows");
  CHECK(create_error(R"({"group_size":0})") == "rtn: group_size = 0, wanted -1 or at least 1");
}

}  // namespace quench::test
