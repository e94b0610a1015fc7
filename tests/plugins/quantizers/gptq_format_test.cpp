// GPTQ on number formats, against the plain loops of the reference kernel, which finds the nearest
// element by looking at all of them.
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "quantizers/gptq/reference.hpp"
#include "shared/matrix/on_host.hpp"
#include "shared/number_formats/number_format.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

namespace reference = quantizers::reference;
using quantizers::ColumnOrder;

constexpr const char* kGptqFormats[] = {"mxfp4",      "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3",
                                        "mxfp8_e5m2", "nvfp4",      "fp8_e4m3",   "fp8_e5m2",
                                        "ternary",    "binary"};
constexpr int64_t kFormatColumns = 192;

Matrix scaled_gram(const Matrix& inputs) {
  Matrix h = product(transposed(inputs), inputs);
  for (double& value : h.values) {
    value *= 2.0 / static_cast<double>(inputs.rows);
  }
  return h;
}

struct FormatWay {
  const char* parameters;
  bool static_groups;
  bool stale;
  bool group_aware;
  ColumnOrder order;
};
constexpr FormatWay kFormatWays[] = {
    {"", false, false, false, ColumnOrder::kGiven},
    {R"(,"static_groups":true)", true, false, false, ColumnOrder::kGiven},
    {R"(,"scale_from":"stale","block":64)", false, true, false, ColumnOrder::kGiven},
    {R"(,"act_group_aware":true)", false, false, true, ColumnOrder::kGroupAware},
    {R"(,"static_groups":true,"desc_act":true)", true, false, false, ColumnOrder::kActivation}};

}  // namespace

TEST_CASE("gptq: a number format gives the codes of the plain kernel",
          "[quantizers][gptq][number_formats]") {
  const Matrix weight = random_matrix(40, kFormatColumns, 51);
  const Matrix inputs = random_matrix(260, kFormatColumns, 52, true);
  const Matrix h = scaled_gram(inputs);
  const bool least_squares = GENERATE(false, true);
  const bool on_device = GENERATE(false, true);
  std::optional<matrix::LibtorchAlone> as_on_a_gpu;
  if (on_device) {
    as_on_a_gpu.emplace();
  }
  for (const std::string format : kGptqFormats) {
    for (const FormatWay& way : kFormatWays) {
      CAPTURE(format, way.parameters, least_squares, on_device);
      const number_formats::NumberFormat& named = *number_formats::find_number_format(format);
      const int64_t size = named.block > 0 ? named.block : 64;
      QuantizerBench bench(R"({"precision":"float64","format":")" + format + "\"" +
                               (named.block > 0 ? "" : R"(,"group_size":64)") + way.parameters +
                               (least_squares ? R"(,"mse":2})" : "}"),
                           kFormatColumns);
      REQUIRE(bench.observe(inputs, true) == QUENCH_OK);
      const Quantized got = bench.quantize(weight, 0, true);
      REQUIRE(got.error == "");
      quantizers::SolverOptions options{{4, true, least_squares ? 2.0 : 0.0},
                                        size,
                                        way.static_groups,
                                        way.stale,
                                        way.stale ? 64 : 128,
                                        true};
      options.group_aware = way.group_aware;
      options.format = &named;
      double largest = 0;
      for (const double x : weight.values) {
        largest = std::max(largest, std::fabs(x));
      }
      options.tensor_scale = named.tensor_scale_of(largest);
      const reference::Solution wanted =
          reference::gptq({weight.rows, weight.columns, weight.values},
                          {h.rows, h.columns, h.values}, options, way.order, 0.01);
      CHECK(differences(got.tensor<uint8_t>("indices"), wanted.codes.values) == "");
      CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
      CHECK(got.numbers.at("loss") == Approx(wanted.loss).epsilon(1e-9));
    }
  }
}

// With absmean a third of the weights lies beyond the last step, 1.5 scales.
TEST_CASE("gptq with mse = 2 errs less on its rows with ternary weights",
          "[quantizers][gptq][number_formats]") {
  const Matrix weight = random_matrix(40, kFormatColumns, 57);
  const Matrix inputs = random_matrix(300, kFormatColumns, 58, true);
  const auto error = [&](const std::string& more) {
    QuantizerBench bench(R"({"format":"ternary","group_size":-1)" + more + "}", kFormatColumns);
    REQUIRE(bench.observe(inputs) == QUENCH_OK);
    Matrix difference = bench.quantize(weight).dequantized;
    for (size_t i = 0; i < difference.values.size(); ++i) {
      difference.values[i] -= weight.values[i];
    }
    return weighted_square(difference, scaled_gram(inputs));
  };
  CHECK(error(R"(,"mse":2)") < 0.8 * error(""));
}

// Rows of an identity matrix correlate nothing, so no error is spread: that is rounding to nearest.
TEST_CASE("gptq: a number format errs less on its rows than rounding to nearest",
          "[quantizers][gptq][number_formats]") {
  const Matrix weight = random_matrix(40, kFormatColumns, 53);
  const Matrix inputs = random_matrix(300, kFormatColumns, 54, true);
  Matrix identity{kFormatColumns, kFormatColumns,
                  std::vector<double>(kFormatColumns * kFormatColumns)};
  for (int64_t i = 0; i < kFormatColumns; ++i) {
    identity(i, i) = 1;
  }
  for (const std::string format : kGptqFormats) {
    CAPTURE(format);
    const bool own = number_formats::find_number_format(format)->block > 0;
    const auto error = [&](const Matrix& rows) {
      QuantizerBench bench(R"({"format":")" + format + (own ? "\"}" : R"(","group_size":64})"),
                           kFormatColumns);
      REQUIRE(bench.observe(rows) == QUENCH_OK);
      Matrix difference = bench.quantize(weight).dequantized;
      for (size_t i = 0; i < difference.values.size(); ++i) {
        difference.values[i] -= weight.values[i];
      }
      return weighted_square(difference, scaled_gram(inputs));
    };
    CHECK(error(inputs) < error(identity));
  }
}

TEST_CASE("gptq: a number format on a device has the values of the host's",
          "[quantizers][gptq][number_formats]") {
  const Matrix weight = random_matrix(20, kFormatColumns, 55);
  const Matrix inputs = random_matrix(300, kFormatColumns, 56, true);
  for (const std::string format : kGptqFormats) {
    CAPTURE(format);
    const bool own = number_formats::find_number_format(format)->block > 0;
    QuantizerBench bench(
        R"({"precision":"float64","format":")" + format + (own ? "\"}" : R"(","group_size":64})"),
        kFormatColumns);
    REQUIRE(bench.observe(inputs) == QUENCH_OK);
    const Quantized wanted = bench.quantize(weight);
    const matrix::LibtorchAlone as_on_a_gpu;
    const Quantized got = bench.quantize_without_codes(weight);
    REQUIRE(got.error == "");
    CHECK(differences(got.dequantized.values, wanted.dequantized.values) == "");
    CHECK(got.bytes.empty());
  }
}

TEST_CASE("gptq says what does not go with a number format", "[quantizers][gptq][number_formats]") {
  CHECK(create_error(R"({"format":"mxfp4","bits":3})") ==
        "gptq: bits = 3 has no effect with format = mxfp4");
  CHECK(create_error(R"({"format":"mxfp4","mse":1})") ==
        "gptq: mse = 1, wanted 0, or 2 for the least squared error, with format = mxfp4");
  CHECK(create_error(R"({"format":"nvfp4","group_size":32})") ==
        "gptq: group_size = 32, but format = nvfp4 has blocks of 16");
  CHECK(
      create_error(R"({"format":"mxfp4","desc_act":true})") ==
      "gptq: desc_act with a format also wants static_groups: a block is of neighbouring columns");
  CHECK(create_error(R"({"format":"mxfp4","desc_act":true,"static_groups":true})") == "");
  QuantizerBench odd(R"({"format":"mxfp4"})", 48);
  REQUIRE(odd.observe(random_matrix(60, 48, 1, true)) == QUENCH_OK);
  CHECK(odd.quantize(random_matrix(2, 48, 1)).error ==
        "linear0: 48 columns, wanted a multiple of the block of 32 with format = mxfp4");
}

}  // namespace quench::test
