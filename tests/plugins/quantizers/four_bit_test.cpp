// Built once with nf4 and once with fp4, against what bitsandbytes makes of the same weights
// (tests/data/four_bit_reference.py).
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "quantizers/codebook/device/code_by_kernel.hpp"
#include "quantizers/codebook/device/entries.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

const SafetensorsFile& reference() {
  static const SafetensorsFile kFile(source_dir() / "tests/data/four_bit_reference.safetensors");
  return kFile;
}

Matrix weight_of(const std::string& name) {
  const std::vector<int64_t> shape = reference().shape("W." + name);
  const std::vector<float> values = reference().elements<float>("W." + name);
  return {shape[0], shape[1], {values.begin(), values.end()}};
}

std::string key(const std::string& weight, const char* tensor) {
  return weight + "." + linked_item().id + "." + tensor;
}

Quantized quantize(const Matrix& weight, const std::string& parameters, bool float64 = false) {
  QuantizerBench bench(parameters, weight.columns);
  const Quantized result = bench.quantize(weight, 0, float64);
  REQUIRE(result.error == "");
  return result;
}

}  // namespace

TEST_CASE("a 4-bit type gives the published codes and factors", "[quantizers][nf4][fp4]") {
  for (const std::string name : {"odd", "blocks"}) {
    const Quantized result = quantize(weight_of(name), "{}");
    const auto codes = result.tensor<uint8_t>("indices");
    const auto levels = result.tensor<float>("table");
    const auto expected = reference().elements<uint8_t>(key(name, "codes"));
    REQUIRE(codes.size() == expected.size());
    for (size_t i = 0; i < codes.size(); ++i) {  // fp4 has two codes for 0
      CHECK(levels[codes[i]] == levels[expected[i]]);
    }
    CHECK(result.tensor<float>("scales") == reference().elements<float>(key(name, "absmax")));
  }
}

TEST_CASE("a 4-bit type gives the published weight", "[quantizers][nf4][fp4]") {
  const Quantized result = quantize(weight_of("odd"), "{}");
  const auto expected = reference().elements<float>(key("odd", "weight"));
  for (size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(result.dequantized.values[i] == Approx(expected[i]).epsilon(1e-6));
  }
}

TEST_CASE("double quantization gives the published factors and weight", "[quantizers][nf4][fp4]") {
  for (const std::string name : {"odd", "blocks"}) {
    const Quantized result = quantize(weight_of(name), R"({"double_quantization":true})");
    const auto codes = result.tensor<uint8_t>("absmax_codes");
    const auto expected_codes = reference().elements<uint8_t>(key(name, "factor_codes"));
    int differ = 0;  // the published mean is a sum in float32, which moves values at a boundary
    for (size_t i = 0; i < codes.size(); ++i) {
      CHECK(std::abs(codes[i] - expected_codes[i]) <= 1);
      differ += codes[i] != expected_codes[i] ? 1 : 0;
    }
    CHECK(differ <= 1);
    const auto maxima = reference().elements<float>(key(name, "factor_maxima"));
    for (size_t i = 0; i < maxima.size(); ++i) {
      CHECK(result.tensor<float>("absmax_maxima")[i] == Approx(maxima[i]).epsilon(1e-6));
    }
    const auto levels = reference().elements<float>("factor_levels");
    for (size_t i = 0; i < levels.size(); ++i) {
      CHECK(result.tensor<float>("absmax_levels")[i] == Approx(levels[i]).epsilon(1e-6));
    }
  }
  const Quantized result = quantize(weight_of("odd"), R"({"double_quantization":true})");
  const auto expected = reference().elements<float>(key("odd", "double_weight"));
  for (size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(result.dequantized.values[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-9));
  }
}

TEST_CASE("a 4-bit type counts its factors", "[quantizers][nf4][fp4]") {
  const Matrix weight = weight_of("blocks");  // 20480 weights, 320 blocks
  CHECK(quantize(weight, "{}").numbers.at("bits_per_weight") == 4.5);
  CHECK(quantize(weight, R"({"block":4096})").numbers.at("bits_per_weight") ==
        Approx(4 + 32.0 / 4096));
  CHECK(quantize(weight, R"({"double_quantization":true})").numbers.at("bits_per_weight") ==
        Approx(4 + 8.0 / 64 + 3 * 32.0 / 20480));
}

TEST_CASE("a 4-bit type takes weights in float64", "[quantizers][nf4][fp4]") {
  const Matrix weight = weight_of("odd");
  CHECK(quantize(weight, "{}", true).tensor<uint8_t>("indices") ==
        quantize(weight, "{}").tensor<uint8_t>("indices"));
}

TEST_CASE("a 4-bit type skips modules and knows no other setting", "[quantizers][nf4][fp4]") {
  const Matrix weight = weight_of("odd");
  const Quantized result = quantize(weight, R"({"modules":["linear* skip"]})");
  CHECK(differences(result.dequantized.values, weight.values) == "");
  CHECK(result.numbers.at("bits_per_weight") == 16);
  CHECK(create_error(R"({"modules":["* bits=3"]})") != "");
}

TEST_CASE("a 4-bit type on a device: codes and factors have the bits of the plain loops",
          "[quantizers][nf4][fp4][cuda]") {
  Matrix weight = random_matrix(37, 133, 4);
  for (int64_t c = 0; c < 133; ++c) {
    weight(1, c) = 0;
    weight(2, c) = 1e-45 * static_cast<double>(c);  // subnormal; 1 / maximum is infinite
  }
  for (const std::string parameters :
       {R"({})", R"({"block":16})", R"({"block":4096,"double_quantization":true})"}) {
    for (const bool float64 : {false, true}) {
      CAPTURE(parameters, float64);
      const Quantized wanted = quantize(weight, parameters, float64);
      const matrix::LibtorchAlone as_on_a_gpu;
      const Quantized got = quantize(weight, parameters, float64);
      for (const char* name : {"indices", "scales", "absmax_codes", "absmax_maxima"}) {
        CAPTURE(name);
        CHECK(differences(got.tensor<uint8_t>(name), wanted.tensor<uint8_t>(name)) == "");
      }
      CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
    }
  }
}

TEST_CASE("a 4-bit type on a device: what is looked up there has the bits of the plain loop",
          "[quantizers][nf4][fp4][cuda]") {
  // Whole blocks and not, and more of them than are looked up at once.
  const auto [count, block] = GENERATE(
      table<int64_t, int64_t>({{300, 64}, {64, 64}, {5, 64}, {(int64_t{1} << 23) + 70, 48}}));
  CAPTURE(count, block);
  const quantizers::Levels levels = {-1, -0.5F, -0.3F, 0.1F, 0.25F, 1};
  const at::Tensor codes =
      at::arange(count, at::TensorOptions(at::kLong)).mul(7).remainder(16).to(at::kByte);
  std::vector<float> factors(static_cast<size_t>((count + block - 1) / block));
  for (size_t i = 0; i < factors.size(); ++i) {
    factors[i] = 0.1F * static_cast<float>(i % 31) + 0.01F;
  }
  const auto check = [&]<typename T>(const T*) {
    std::vector<T> wanted(static_cast<size_t>(count));
    quantizers::look_up<T>({codes.const_data_ptr<uint8_t>(), wanted.size()}, factors, block, levels,
                           wanted);
    const at::Tensor got = at::zeros({count}, c10::CppTypeToScalarType<T>::value);
    quantizers::look_up_there(codes, factors, block, levels, got);
    CHECK(std::equal(wanted.begin(), wanted.end(), got.const_data_ptr<T>()));
  };
  check(static_cast<float*>(nullptr));
  check(static_cast<double*>(nullptr));
}

TEST_CASE("a 4-bit type on a device: a weight beyond float32 is refused there, too",
          "[quantizers][nf4][fp4][cuda]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  QuantizerBench bench("{}", 2);
  CHECK_THAT(bench.quantize(matrix({{1, 1e300}}), 0, true).error,
             Catch::Contains("a weight is beyond float32"));
}

TEST_CASE("a 4-bit type on a device: a thread reads nothing that another writes",
          "[quantizers][nf4][fp4][cuda]") {
  const Matrix weight = random_matrix(3, 100, 4);
  const quantizers::LevelSearch search({-1, -0.5F, 0, 0.25F, 1});
  std::vector<uint8_t> codes[2];
  std::vector<float> maxima[2];
  for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
    const size_t own = order == cuda::Order::kFirstToLast ? 0 : 1;
    codes[own].resize(300);
    maxima[own].resize(5);
    const quantizers::CodeBlocks<double> kernel{
        weight.values.data(), 300, 64, search, maxima[own].data(), codes[own].data()};
    cuda::run_on_host(kernel, kernel.blocks(), order);
  }
  CHECK(differences(codes[0], codes[1]) == "");
  CHECK(differences(maxima[0], maxima[1]) == "");
}

}  // namespace quench::test
