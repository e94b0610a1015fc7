#include <catch2/catch.hpp>
#include <cmath>

#include "quantizers/hqq/device/entries.hpp"
#include "quantizers/hqq/half_quadratic.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

using quantizers::Grid;
using quantizers::HalfQuadratic;

double mean_error(std::span<const double> weights, const Grid& grid, double max_code) {
  double sum = 0;
  for (const double w : weights) {
    const double code = quantizers::half_quadratic_code(w, grid, max_code);
    sum += std::fabs(w - grid.scale * (code - grid.zero));
  }
  return sum / static_cast<double>(weights.size());
}

// One iteration, written out from the paper.
double next_zero(std::span<const double> weights, const Grid& grid, double max_code, double beta) {
  double sum = 0;
  for (const double w : weights) {
    const double code = quantizers::half_quadratic_code(w, grid, max_code);
    const double off = w - grid.scale * (code - grid.zero);
    const double rest = std::max(std::fabs(off) - std::pow(std::fabs(off), -0.3) / beta, 0.0);
    const double e = off < 0 ? -rest : rest;
    sum += code - (w - e) / grid.scale;
  }
  return sum / static_cast<double>(weights.size());
}

}  // namespace

// Extremes -1 and 2 with 2 bits: scale 1, zero 1; -0.4 and 0.45 round to 0.
TEST_CASE("hqq without iterations is the grid of the extremes", "[quantizers][hqq]") {
  QuantizerBench bench(R"({"bits":2,"group_size":-1,"iterations":0})", 4);
  const Quantized result = bench.quantize(matrix({{-1, -0.4, 0.45, 2}}));
  CHECK(result.scales == std::vector<double>{1});
  CHECK(result.zeros == std::vector<double>{1});
  CHECK(result.codes == std::vector<uint8_t>{0, 1, 1, 3});
  CHECK(result.dequantized.values == std::vector<double>{-1, 0, 0, 2});
}

TEST_CASE("hqq's first iteration is the paper's", "[quantizers][hqq]") {
  const Matrix weights = random_matrix(1, 64, 5);
  const HalfQuadratic options;
  const Grid start = quantizers::solve_group<double>(weights.values, 3, {0.7, 10, 1.01, 0});
  const Grid once = quantizers::solve_group<double>(weights.values, 3, {0.7, 10, 1.01, 1});
  const Grid wanted{start.scale, next_zero(weights.values, start, 7, options.beta)};
  const bool better = mean_error(weights.values, wanted, 7) < mean_error(weights.values, start, 7);
  CHECK(once.zero == Approx(better ? wanted.zero : start.zero).epsilon(1e-12));
}

TEST_CASE("hqq's mean error never exceeds that of the extremes' grid", "[quantizers][hqq]") {
  int improved = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Matrix weights = random_matrix(1, 64, seed);
    const Grid start = quantizers::solve_group<double>(weights.values, 3, {0.7, 10, 1.01, 0});
    const Grid solved = quantizers::solve_group<double>(weights.values, 3, {});
    const double before = mean_error(weights.values, start, 7);
    const double after = mean_error(weights.values, solved, 7);
    CHECK(after <= before);
    improved += after < before ? 1 : 0;
  }
  CHECK(improved > 25);
}

TEST_CASE("hqq meets a group of equal weights exactly", "[quantizers][hqq]") {
  QuantizerBench bench(R"({"bits":4,"group_size":2})", 6);
  const Matrix weight = matrix({{3, 3, 0, 0, -0.7, -0.7}});
  const Quantized result = bench.quantize(weight, 0, true);
  CHECK(differences(result.dequantized.values, weight.values) == "");
}

TEST_CASE("hqq counts a half for each scale and zero", "[quantizers][hqq]") {
  QuantizerBench bench(R"({"bits":3,"group_size":64})", 128);
  CHECK(bench.quantize(random_matrix(4, 128, 1)).numbers.at("bits_per_weight") == 3.5);
}

TEST_CASE("hqq on a device: scales, zeros and codes have the bits of the plain loop",
          "[quantizers][hqq][cuda]") {
  Matrix weight = random_matrix(70, 133, 6);
  for (int64_t c = 0; c < 133; ++c) {
    weight(1, c) = 0;
    weight(2, c) = -3;
  }
  for (const std::string parameters :
       {R"({"group_size":-1})", R"({"bits":3,"group_size":32})", R"({"bits":8,"group_size":1})",
        R"({"bits":2,"group_size":50,"exponent":1,"kappa":2,"iterations":3})"}) {
    for (const bool float64 : {false, true}) {
      CAPTURE(parameters, float64);
      const auto run = [&] { return QuantizerBench(parameters, 133).quantize(weight, 0, float64); };
      const Quantized wanted = run();
      REQUIRE(wanted.error == "");
      const matrix::LibtorchAlone as_on_a_gpu;
      const Quantized got = run();
      REQUIRE(got.error == "");
      CHECK(differences(got.codes, wanted.codes) == "");
      CHECK(differences(got.scales, wanted.scales) == "");
      CHECK(differences(got.zeros, wanted.zeros) == "");
      CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
    }
  }
}

TEST_CASE("hqq on a device: a thread reads nothing that another writes",
          "[quantizers][hqq][cuda]") {
  const Matrix weight = random_matrix(5, 70, 6);
  std::vector<double> zeros[2];
  for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
    std::vector<double>& own = zeros[order == cuda::Order::kFirstToLast ? 0 : 1];
    own.resize(15);
    std::vector<double> scales(15);
    std::vector<uint8_t> codes(350);
    const quantizers::SolveRows<double> kernel{
        weight.values.data(), 5, 70, 32, 3, 4, {}, codes.data(), scales.data(), own.data()};
    cuda::run_on_host(kernel, kernel.blocks(), order);
  }
  CHECK(differences(zeros[0], zeros[1]) == "");
}

}  // namespace quench::test
