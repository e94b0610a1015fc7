// GPTQ by hand. Two correlated columns a, b with Hessian [[p, q], [q, r]]: after column a is
// rounded with error d = w - value, b becomes b + d * q / r, since that minimizes the output error.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/plugins/quantizers/quantizer_bench.hpp"

namespace quench::test {

namespace {

// A bench whose Hessian is exactly `h` (2/N G with N = 2).
void set_hessian(QuantizerBench& bench, const Matrix& h) {
  kit::OwnedTensor<double> gram({h.rows, h.columns});
  gram.values() = h.values;
  const quench_tensor view = gram.view();
  quench_error error{sizeof error, 0, {}};
  kit::check(bench.gram().gram_set(bench.quantizer(), bench.state(), &view, 2, &error), error);
}

std::vector<int> codes_of(const Quantized& result) {
  return {result.codes.begin(), result.codes.end()};
}

const std::string kPlain =
    R"("bits":2,"sym":false,"damp":0,"damp_increment":0,"precision":"float64")";

}  // namespace

// Both rows span 0..3: scale 1, zero 0. Column 1 gets half of column 0's error.
//   row 0: 0.3 -> 0, error 0.3;  1.4 + 0.15 = 1.55 -> 2;  3 -> 3       (rounding alone: 0 1 3)
//   row 1: 1.6 -> 2, error -0.4; 0.6 - 0.2 = 0.4 -> 0;   3 -> 3       (rounding alone: 2 1 3)
// H^-1 of [[2, 1], [1, 2]] is [[2, -1], [-1, 2]] / 3, so U_00^2 = 2/3, U_11^2 = 1/2:
//   loss = 0.3^2 * 3/4 + 0.45^2 + 0.4^2 * 3/4 + 0.4^2 = 0.0675 + 0.2025 + 0.12 + 0.16 = 0.55
TEST_CASE("gptq compensates a rounding error in the correlated column", "[quantizers][gptq]") {
  QuantizerBench bench("{" + kPlain + R"(,"group_size":-1})", 3);
  set_hessian(bench, matrix({{2, 1, 0}, {1, 2, 0}, {0, 0, 2}}));
  const Quantized result = bench.quantize(matrix({{0.3, 1.4, 3}, {1.6, 0.6, 3}}), 0, true);
  REQUIRE(result.status == QUENCH_OK);
  CHECK(codes_of(result) == std::vector<int>{0, 2, 3, 2, 0, 3});
  CHECK(result.scales == std::vector<double>{1, 1});
  CHECK(result.zeros == std::vector<double>{0, 0});
  CHECK(result.dequantized.values == std::vector<double>{0, 2, 3, 2, 0, 3});
  CHECK(result.perm == std::vector<int32_t>{0, 1, 2});
  CHECK(result.numbers.at("loss") == Approx(0.55).epsilon(1e-12));
  CHECK(result.numbers.at("rows") == 2);
  // 2 bits a code; per row a scale of 16 bits and a zero of 2, over 3 weights.
  CHECK(result.numbers.at("bits_per_weight") == Approx(2 + 18.0 / 3));
}

// Damping 0.5 adds 0.5 * mean(2, 2, 2) = 1 to the diagonal: column 1 gets 1/3 of the error, not
// 1/2.
//   undamped: 1.38 + 0.15 = 1.53 -> 2          damped: 1.38 + 0.1 = 1.48 -> 1
TEST_CASE("gptq adds damp times the mean of the diagonal", "[quantizers][gptq]") {
  for (const bool damped : {false, true}) {
    QuantizerBench bench(std::string(R"({"bits":2,"sym":false,"precision":"float64",)") +
                             R"("group_size":-1,"damp":)" + (damped ? "0.5}" : "0}"),
                         3);
    set_hessian(bench, matrix({{2, 1, 0}, {1, 2, 0}, {0, 0, 2}}));
    const Quantized result = bench.quantize(matrix({{0.3, 1.38, 3}}), 0, true);
    CHECK(codes_of(result) == std::vector<int>{0, damped ? 1 : 2, 3});
    CHECK(result.numbers.at("damp") == (damped ? 0.5 : 0));
    CHECK(result.numbers.at("retries") == 0);
  }
}

// Diagonal 1, 4, 2: the order is column 1, 2, 0. With H_01 = H_00 = 1, column 0 gets all of column
// 1's error. The row is 1.4, 0.3, 3; groups have 2 columns.
//   whole row: scale 1. 0.3 -> 0, 3 -> 3, 1.4 + 0.3 = 1.7 -> 2
//   current:   {1, 2} scale 1: 0, 3. {0} is 1.7 by now: scale 1.7/3, code 3
//   stale:     the same, but {0} was 1.4 when the block began: scale 1.4/3, 1.7 -> 3.6 -> 3
//   static:    {0, 1} scale 1.4/3, {2} scale 1. 0.3 -> 0.64 -> 1, error -1/6;
//              1.4 - 1/6 = 1.2333 -> 2.64 -> 3; 3 -> 3
TEST_CASE("gptq orders columns by the diagonal and groups them as asked", "[quantizers][gptq]") {
  const auto run = [](const std::string& options) {
    QuantizerBench bench("{" + kPlain + R"(,"desc_act":true,)" + options + "}", 3);
    set_hessian(bench, matrix({{1, 1, 0}, {1, 4, 0}, {0, 0, 2}}));
    return bench.quantize(matrix({{1.4, 0.3, 3}}), 0, true);
  };
  const Quantized whole = run(R"("group_size":-1)");
  CHECK(whole.perm == std::vector<int32_t>{1, 2, 0});
  CHECK(whole.g_idx == std::vector<int32_t>{0, 0, 0});
  CHECK(codes_of(whole) == std::vector<int>{2, 0, 3});
  CHECK(whole.numbers.at("bits_per_weight") == Approx(2 + 18.0 / 3));

  const Quantized current = run(R"("group_size":2)");
  CHECK(current.g_idx == std::vector<int32_t>{1, 0, 0});
  CHECK(codes_of(current) == std::vector<int>{3, 0, 3});
  CHECK(current.scales[0] == 1);
  CHECK(current.scales[1] == Approx(1.7 / 3).epsilon(1e-12));
  CHECK(current.numbers.at("bits_per_weight") == Approx(2 + 2 * 18.0 / 3 + 32));

  const Quantized stale = run(R"("group_size":2,"scale_from":"stale")");
  CHECK(codes_of(stale) == std::vector<int>{3, 0, 3});
  CHECK(stale.scales[1] == Approx(1.4 / 3).epsilon(1e-12));

  const Quantized fixed = run(R"("group_size":2,"static_groups":true)");
  CHECK(fixed.g_idx == std::vector<int32_t>{0, 0, 1});
  CHECK(codes_of(fixed) == std::vector<int>{3, 1, 3});
  CHECK(fixed.scales[0] == Approx(1.4 / 3).epsilon(1e-12));
  CHECK(fixed.scales[1] == 1);
}

// Column 2 is dead. A group's grid does not see its weight, a whole row's does:
//   group of 5: -1..2, scale 1, zero 1:   0.4 -> 1, -1 -> 0, dead -> 1, 2 -> 3, 0.25 -> 1
//   whole row: -1..100, scale 101/3, zero 0: all codes 0
TEST_CASE("gptq clears dead columns and counts them", "[quantizers][gptq]") {
  Matrix h =
      matrix({{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 1, 0}, {0, 0, 0, 0, 1}});
  Matrix weight{5, 5, {}};
  std::vector<int> grouped_codes;
  for (int row = 0; row < 5; ++row) {
    for (const double value : {0.4, -1.0, 100.0, 2.0, 0.25}) {
      weight.values.push_back(std::ldexp(value, row));
    }
    grouped_codes.insert(grouped_codes.end(), {1, 0, 1, 3, 1});
  }
  QuantizerBench grouped("{" + kPlain + R"(,"group_size":5})", 5);
  set_hessian(grouped, h);
  const Quantized result = grouped.quantize(weight, 0, true);
  CHECK(codes_of(result) == grouped_codes);
  CHECK(result.scales == std::vector<double>{1, 2, 4, 8, 16});
  CHECK(result.dequantized(4, 2) == 0);
  CHECK(result.numbers.at("dead") == 1);

  QuantizerBench whole("{" + kPlain + R"(,"group_size":-1})", 5);
  set_hessian(whole, h);
  CHECK(codes_of(whole.quantize(weight, 0, true)) == std::vector<int>(25, 0));
}

}  // namespace quench::test
