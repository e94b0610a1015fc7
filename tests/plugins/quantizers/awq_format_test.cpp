// Number formats in awq, against a search that rounds block by block and multiplies the rows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "quantizers/awq/candidates.hpp"
#include "shared/matrix/on_host.hpp"
#include "shared/number_formats/number_format.hpp"
#include "shared/number_formats/scale_by_force.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

using number_formats::NumberFormat;

constexpr int64_t kColumns = 96;
constexpr const char* kAwqFormats[] = {"mxfp4", "nvfp4", "fp8_e4m3", "ternary"};

const NumberFormat& format_called(const std::string& name) {
  return *number_formats::find_number_format(name);
}

int64_t block_of(const NumberFormat& format) {
  return format.block > 0 ? format.block : 48;
}

std::string setting(const std::string& format, const std::string& more = "") {
  return R"({"format":")" + format + "\"" +
         (format_called(format).block > 0 ? "" : R"(,"group_size":48)") + more + "}";
}

// Rows with a few columns that are much larger, which a search is to find.
Matrix inputs() {
  Matrix x = random_matrix(200, kColumns, 61, true);
  for (int64_t r = 0; r < x.rows; ++r) {
    x(r, 5) *= 12;
    x(r, 70) *= 20;
  }
  return x;
}

std::vector<Matrix> two_weights() {
  return {random_matrix(20, kColumns, 62), random_matrix(12, kColumns, 63)};
}

// Q(W diag(s)) diag(1/s), block by block; with the scales of the least squared error, by trying
// all.
Matrix rounded(const Matrix& weight, const std::vector<double>& scale, const NumberFormat& format,
               bool least_squares = false) {
  Matrix out = weight;
  double most = 0;
  for (int64_t r = 0; r < out.rows; ++r) {
    for (int64_t c = 0; c < out.columns; ++c) {
      out(r, c) *= scale[static_cast<size_t>(c)];
      most = std::max(most, std::fabs(out(r, c)));
    }
  }
  const double tensor_scale = format.tensor_scale_of(most);
  for (size_t first = 0; first < out.values.size(); first += block_of(format)) {
    const auto size = static_cast<size_t>(block_of(format));
    if (!least_squares) {
      round_block(format, out.values.data() + first, block_of(format), tensor_scale);
      continue;
    }
    const double best = number_formats::by_force::least_squares_scale(
        format, {out.values.data() + first, size}, tensor_scale);
    for (size_t i = first; i < first + size; ++i) {
      out.values[i] = best * format.element_of(format.code_of(out.values[i], best));
    }
  }
  for (int64_t r = 0; r < out.rows; ++r) {
    for (int64_t c = 0; c < out.columns; ++c) {
      out(r, c) /= scale[static_cast<size_t>(c)];
    }
  }
  return out;
}

// The mean squared error of the outputs of both linears.
double loss_of(const std::vector<Matrix>& weights, const Matrix& x,
               const std::vector<double>& scale, const NumberFormat& format) {
  double sum = 0;
  double outputs = 0;
  for (const Matrix& weight : weights) {
    Matrix off = rounded(weight, scale, format);
    for (size_t i = 0; i < off.values.size(); ++i) {
      off.values[i] -= weight.values[i];
    }
    for (const double error : product(x, transposed(off)).values) {
      sum += error * error;
    }
    outputs += static_cast<double>(x.rows * weight.rows);
  }
  return sum / outputs;
}

std::vector<double> mean_magnitudes(const Matrix& x) {
  std::vector<double> out(kColumns);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < kColumns; ++c) {
      out[static_cast<size_t>(c)] += std::fabs(x(r, c)) / static_cast<double>(x.rows);
    }
  }
  return out;
}

// The mean share that a column's weights have of the largest of their blocks.
std::vector<double> relative_magnitudes(const std::vector<Matrix>& weights, int64_t block) {
  std::vector<double> out(kColumns);
  double rows = 0;
  for (const Matrix& weight : weights) {
    rows += static_cast<double>(weight.rows);
    for (int64_t r = 0; r < weight.rows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        double most = 0;
        for (int64_t k = c / block * block; k < (c / block + 1) * block; ++k) {
          most = std::max(most, std::fabs(weight(r, k)));
        }
        out[static_cast<size_t>(c)] += std::fabs(weight(r, c)) / (most + 1e-6);
      }
    }
  }
  for (double& value : out) {
    value /= rows;
  }
  return out;
}

}  // namespace

TEST_CASE("awq: a number format's weight is its blocks of scaled weights over the scale",
          "[quantizers][awq][number_formats]") {
  for (const std::string format : kAwqFormats) {
    CAPTURE(format);
    QuantizerBench bench(setting(format), kColumns, 2);
    REQUIRE(bench.observe(inputs(), true) == QUENCH_OK);
    const std::vector<Matrix> weights = two_weights();
    REQUIRE(bench.prepare(weights, true) == "");
    for (uint32_t l = 0; l < 2; ++l) {
      const Quantized result = bench.quantize(weights[l], l, true);
      REQUIRE(result.error == "");
      const auto scale = result.tensor<double>("channel_scale");
      REQUIRE(scale.size() == kColumns);
      CHECK(differences(result.dequantized.values,
                        rounded(weights[l], scale, format_called(format)).values) == "");
      CHECK(result.tensor<uint8_t>("indices").size() == weights[l].values.size());
      CHECK(result.codes.empty());
      const double scales = static_cast<double>(kColumns / block_of(format_called(format)));
      const double tensor =
          format == "nvfp4" ? 32.0 / static_cast<double>(weights[l].values.size()) : 0;
      CHECK(result.numbers.at("bits_per_weight") ==
            Approx(format_called(format).element_bits +
                   format_called(format).scale_bits() * scales / kColumns + tensor +
                   16.0 / static_cast<double>(weights[l].rows)));
    }
  }
}

TEST_CASE("awq with mse = 2 rounds scaled weights with the scales of the least squared error",
          "[quantizers][awq][number_formats]") {
  const std::vector<Matrix> weights = two_weights();
  for (const std::string format : kAwqFormats) {
    CAPTURE(format);
    const auto quantized = [&](const std::string& more) {
      QuantizerBench bench(setting(format, more), kColumns, 2);
      REQUIRE(bench.observe(inputs(), true) == QUENCH_OK);
      REQUIRE(bench.prepare(weights, true) == "");
      return bench.quantize(weights[0], 0, true);
    };
    const Quantized least = quantized(R"(,"mse":2)");
    REQUIRE(least.error == "");
    const auto scale = least.tensor<double>("channel_scale");
    CHECK(differences(least.dequantized.values,
                      rounded(weights[0], scale, format_called(format), true).values) == "");
    CHECK(differences(quantized(R"(,"mse":0)").dequantized.values,
                      quantized("").dequantized.values) == "");
    if (format != "fp8_e4m3") {  // which gains too little to show on the rows
      CHECK(least.numbers.at("search_loss") < quantized("").numbers.at("search_loss"));
    }
  }
}

TEST_CASE("awq: the scale of a number format is the best that a search on the rows finds",
          "[quantizers][awq][number_formats]") {
  constexpr double kFloatProducts = 1e-4;  // the search multiplies in float32
  const Matrix x = inputs();
  const std::vector<Matrix> weights = two_weights();
  for (const std::string name : kAwqFormats) {
    CAPTURE(name);
    const NumberFormat& format = format_called(name);
    QuantizerBench bench(setting(name), kColumns, 2);
    REQUIRE(bench.observe(x, true) == QUENCH_OK);
    REQUIRE(bench.prepare(weights, true) == "");
    const Quantized result = bench.quantize(weights[0], 0, true);
    REQUIRE(result.error == "");
    const std::vector<double> of_inputs = mean_magnitudes(x);
    const std::vector<double> of_weights = relative_magnitudes(weights, block_of(format));
    double least = HUGE_VAL;
    for (const quantizers::Candidate& candidate :
         quantizers::candidates_of("llm_compressor", "on", 20)) {
      const auto scale = quantizers::channel_scale(candidate, of_inputs, of_weights);
      least = std::min(least, loss_of(weights, x, scale, format));
    }
    CHECK(result.numbers.at("search_loss") == Approx(least).epsilon(kFloatProducts));
    const auto found = result.tensor<double>("channel_scale");
    CHECK(loss_of(weights, x, found, format) == Approx(least).epsilon(kFloatProducts));
    const std::vector<double> none(kColumns, 1.0);
    CHECK(result.numbers.at("plain_loss") ==
          Approx(loss_of(weights, x, none, format)).epsilon(kFloatProducts));
    CHECK(result.numbers.at("search_loss") < result.numbers.at("plain_loss"));
  }
}

TEST_CASE("awq: clipping a number format's blocks errs no more on the rows",
          "[quantizers][awq][number_formats]") {
  const std::vector<Matrix> weights = two_weights();
  for (const std::string format : {"nvfp4", "fp8_e4m3", "ternary"}) {
    CAPTURE(format);
    const auto loss = [&](const std::string& more) {
      QuantizerBench bench(setting(format, R"(,"share":"linear")" + more), kColumns);
      REQUIRE(bench.observe(inputs(), true) == QUENCH_OK);
      const Quantized result = bench.quantize(weights[0], 0, true);
      REQUIRE(result.error == "");
      return result.numbers.at("loss");
    };
    // A block's own columns decide, without those of others: hence not exactly no more.
    CHECK(loss(R"(,"clip":"all")") < 1.05 * loss(""));
  }
}

TEST_CASE("awq: a number format on a device has the values of the host's",
          "[quantizers][awq][number_formats]") {
  const std::vector<Matrix> weights = two_weights();
  for (const std::string format : {"mxfp4", "nvfp4"}) {
    QuantizerBench bench(setting(format), kColumns, 2);
    REQUIRE(bench.observe(inputs()) == QUENCH_OK);
    REQUIRE(bench.prepare(weights) == "");
    const Quantized wanted = bench.quantize(weights[1], 1);
    const matrix::LibtorchAlone as_on_a_gpu;
    const Quantized got = bench.quantize_without_codes(weights[1], 1);
    REQUIRE(got.error == "");
    CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
    CHECK(got.tensor<uint8_t>("indices").empty());
  }
}

TEST_CASE("awq says what does not go with a number format", "[quantizers][awq][number_formats]") {
  CHECK(create_error(R"({"format":"mxfp4","bits":3})") ==
        "awq: bits = 3 has no effect with format = mxfp4");
  CHECK(create_error(R"({"format":"nvfp4","sym":true})") ==
        "awq: sym has no effect with format = nvfp4");
  CHECK(create_error(R"({"mse":2})") == "awq: mse has no effect without a format");
  CHECK(create_error(R"({"format":"nvfp4","mse":1})") ==
        "awq: mse = 1, wanted 0, or 2 for the least squared error, with format = nvfp4");
  CHECK(create_error(R"({"format":"nvfp4","mse":2,"clip":"all"})") ==
        "awq: mse and clip both choose the scale of a block; wanted clip = off");
  CHECK(create_error(R"({"format":"nvfp4","group_size":32})") ==
        "awq: group_size = 32, but format = nvfp4 has blocks of 16");
  CHECK(create_error(R"({"format":"mxfp4","preset":"llm_compressor"})") == "");
  QuantizerBench odd(R"({"format":"mxfp4"})", 48);
  REQUIRE(odd.observe(random_matrix(60, 48, 1, true)) == QUENCH_OK);
  CHECK(odd.quantize(random_matrix(2, 48, 1)).error ==
        "linear0: 48 columns, wanted a multiple of the block of 32 with format = mxfp4");
}

}  // namespace quench::test
