#include <catch2/catch.hpp>
#include <cmath>

#include "quantizers/noise/device/add_noise_kernel.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

// Error of each group of `size` columns of each row, of rounding to a symmetric grid of four bits.
std::vector<double> rounding_lengths(const Matrix& weight, int64_t size) {
  std::vector<double> lengths;
  for (int64_t r = 0; r < weight.rows; ++r) {
    for (int64_t first = 0; first < weight.columns; first += size) {
      double largest = 0;
      for (int64_t c = first; c < std::min(first + size, weight.columns); ++c) {
        largest = std::max(largest, std::fabs(weight(r, c)));
      }
      const double scale = 2 * largest / 15;
      double sum = 0;
      for (int64_t c = first; c < std::min(first + size, weight.columns); ++c) {
        const double code = std::min(std::rint(weight(r, c) / scale), 7.0);
        sum += std::pow(weight(r, c) - scale * code, 2);
      }
      lengths.push_back(std::sqrt(sum));
    }
  }
  return lengths;
}

std::vector<double> noise_lengths(const Matrix& weight, const Matrix& noisy, int64_t size) {
  std::vector<double> lengths;
  for (int64_t r = 0; r < weight.rows; ++r) {
    for (int64_t first = 0; first < weight.columns; first += size) {
      double sum = 0;
      for (int64_t c = first; c < std::min(first + size, weight.columns); ++c) {
        sum += std::pow(weight(r, c) - noisy(r, c), 2);
      }
      lengths.push_back(std::sqrt(sum));
    }
  }
  return lengths;
}

}  // namespace

TEST_CASE("noise is as long as the rounding error, group by group", "[quantizers][noise]") {
  const Matrix weight = random_matrix(5, 100, 3);
  const std::vector<double> expected = rounding_lengths(weight, 32);
  for (const std::string kind : {"gaussian", "uniform"}) {
    QuantizerBench bench(R"({"bits":4,"group_size":32,"distribution":")" + kind + "\"}", 100);
    const Quantized result = bench.quantize(weight, 0, true);
    const std::vector<double> lengths = noise_lengths(weight, result.dequantized, 32);
    REQUIRE(lengths.size() == 20);
    for (size_t i = 0; i < lengths.size(); ++i) {
      CHECK(lengths[i] == Approx(expected[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("noise differs from draw to draw, from linear to linear, and not from run to run",
          "[quantizers][noise]") {
  const Matrix weight = random_matrix(4, 64, 3);
  const auto with = [&](const std::string& parameters, uint32_t linear) {
    QuantizerBench bench(parameters, 64, 2);
    return bench.quantize(weight, linear).dequantized.values;
  };
  CHECK(with("{}", 0) == with("{}", 0));
  CHECK(with("{}", 0) != with("{}", 1));
  CHECK(with("{}", 0) != with(R"({"draw":1})", 0));
}

TEST_CASE("gaussian noise has a normal's fourth moment, uniform noise a uniform's",
          "[quantizers][noise]") {
  const Matrix weight = random_matrix(64, 512, 8);
  const auto kurtosis = [&](const std::string& kind) {
    QuantizerBench bench(R"({"group_size":-1,"distribution":")" + kind + "\"}", 512);
    const Quantized result = bench.quantize(weight, 0, true);
    double second = 0;
    double fourth = 0;
    const auto lengths = noise_lengths(weight, result.dequantized, 512);
    for (int64_t r = 0; r < 64; ++r) {
      for (int64_t c = 0; c < 512; ++c) {
        const double z =
            (result.dequantized(r, c) - weight(r, c)) / lengths[static_cast<size_t>(r)];
        second += z * z;
        fourth += z * z * z * z;
      }
    }
    return fourth / (second * second) * 64 * 512;
  };
  CHECK(kurtosis("gaussian") == Approx(3.0).margin(0.15));  // 32768 values: s.e. 0.03
  CHECK(kurtosis("uniform") == Approx(1.8).margin(0.05));
}

TEST_CASE("noise of scale 0 is none", "[quantizers][noise]") {
  const Matrix weight = random_matrix(4, 64, 3);
  QuantizerBench bench(R"({"scale":0})", 64);
  CHECK(differences(bench.quantize(weight).dequantized.values, weight.values) == "");
}

TEST_CASE("noise on a device: the weight has the bits of the processor's",
          "[quantizers][noise][cuda]") {
  // The second shape is drawn in more than one slab, the last of which is shorter.
  const auto [rows, columns] = GENERATE(table<int64_t, int64_t>({{9, 70}, {5, 300'001}}));
  const Matrix weight = random_matrix(rows, columns, 3);
  for (const std::string parameters :
       {R"({})", R"({"distribution":"uniform","group_size":32,"sym":false,"mse":2,"draw":3})"}) {
    for (const bool float64 : {false, true}) {
      const auto run = [&] {
        return QuantizerBench(parameters, columns).quantize(weight, 0, float64);
      };
      const Quantized wanted = run();
      REQUIRE(wanted.error == "");
      const matrix::LibtorchAlone as_on_a_gpu;
      const Quantized got = run();
      REQUIRE(got.error == "");
      CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
      CHECK(got.numbers == wanted.numbers);
    }
  }
}

TEST_CASE("noise on a device: a thread reads nothing that another writes",
          "[quantizers][noise][cuda]") {
  const Matrix weight = random_matrix(5, 70, 6);
  const Matrix noise = random_matrix(5, 70, 7);
  const std::vector<uint8_t> codes(350, 3);
  const std::vector<double> scales(15, 0.25);
  const std::vector<double> zeros(15, 1);
  std::vector<double> out[2];
  for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
    std::vector<double>& own = out[order == cuda::Order::kFirstToLast ? 0 : 1];
    own.resize(350);
    const quantizers::AddNoise<double> kernel{
        weight.values.data(), 5, 70,        32, 3, codes.data(), scales.data(), zeros.data(),
        noise.values.data(),  1, own.data()};
    cuda::run_on_host(kernel, kernel.blocks(), order);
  }
  CHECK(differences(out[0], out[1]) == "");
}

TEST_CASE("noise on a device: what overflows is refused there", "[quantizers][noise][cuda]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  const auto error = [](const std::string& parameters, const Matrix& weight, bool float64) {
    return QuantizerBench(parameters, 2).quantize_without_codes(weight, 0, float64).error;
  };
  CHECK(error("{}", matrix({{1.7e308, -1.7e308}}), true) ==
        "linear0: the range of a row overflows");
  CHECK(error(R"({"scale":1000,"bits":2})", matrix({{3e38, -1.1e38}}), false) ==
        "linear0: the weight with its noise is not finite");
}

}  // namespace quench::test
