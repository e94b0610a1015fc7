// Quantizers of weights whose linears also round their inputs. Linked with rtn, gptq and awq.
#include <catch2/catch.hpp>
#include <cmath>

#include "quantizers/inputs/integers.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

const std::string kWeights = R"("bits":4,"group_size":32)";
// awq's default are rows of the float model, which rounded inputs cannot wait for.
std::string parameters(const std::string& more) {
  const bool is_awq = std::string(linked_item().id) == "awq";
  return "{" + kWeights + (is_awq ? R"(,"inputs":"sequential")" : "") + more + "}";
}

Quantized quantized(const std::string& more, const Matrix& weight, const Matrix& x,
                    bool float64 = false) {
  QuantizerBench bench(parameters(more), weight.columns);
  REQUIRE(bench.observe(x, float64) == QUENCH_OK);
  Quantized result = bench.quantize(weight, 0, float64);
  REQUIRE(result.error == "");
  return result;
}

double squares(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sum;
}

double relative(const Matrix& a, const Matrix& wanted) {
  const std::vector<double> none(wanted.values.size(), 0.0);
  return std::sqrt(squares(a.values, wanted.values) / squares(wanted.values, none));
}

// Each row of `x` over the channel scale, rounded to 8 bits, in float32; with one range of all
// rows, or one for each.
Matrix rounded_rows(Matrix x, const std::vector<double>& scale, bool one_range) {
  const auto format = quantizers::integers(8, true);
  const auto columns = static_cast<size_t>(x.columns);
  quantizers::Range range{0, 0};
  for (size_t i = 0; one_range && i < x.values.size(); ++i) {
    const double value = x.values[i] / (scale.empty() ? 1 : scale[i % columns]);
    range = {std::min(range.min, value), std::max(range.max, value)};
  }
  for (size_t first = 0; first < x.values.size(); first += columns) {
    range = one_range ? range : quantizers::Range{0, 0};
    for (size_t c = 0; c < columns; ++c) {
      double& value = x.values[first + c];
      value = scale.empty() ? value : static_cast<float>(value / scale[c]);
      if (!one_range) {
        range = {std::min(range.min, value), std::max(range.max, value)};
      }
    }
    format->round({x.values.data() + first, columns}, range);
    for (size_t c = 0; c < columns; ++c) {
      x.values[first + c] = static_cast<float>(x.values[first + c]);
    }
  }
  return x;
}

}  // namespace

TEST_CASE("rounded inputs leave the weight's codes as they are without them",
          "[quantizers][activations]") {
  const Matrix weight = random_matrix(24, 96, 1);
  const Matrix x = random_matrix(300, 96, 2, true);
  const Quantized plain = quantized("", weight, x);
  CHECK(plain.op == nullptr);
  CHECK(!plain.texts.contains("activations"));
  const Quantized both = quantized(R"(,"activations":"int8")", weight, x);
  CHECK(differences(both.codes, plain.codes) == "");
  CHECK(differences(both.scales, plain.scales) == "");
  CHECK(differences(both.dequantized.values, plain.dequantized.values) == "");
  CHECK(both.numbers.at("bits_per_weight") == plain.numbers.at("bits_per_weight"));
  REQUIRE(both.op != nullptr);
}

// What the op gives is the product of rounded rows with what codes stand for; awq's rows are
// divided by its channel scale first, as they are where the scale is folded.
TEST_CASE("rounded inputs are multiplied by what the weight's codes stand for",
          "[quantizers][activations]") {
  const Matrix weight = random_matrix(24, 96, 1);
  const Matrix x = random_matrix(300, 96, 2, true);
  const bool float64 = GENERATE(false, true);
  for (const std::string more : {"", R"(,"activation_per":"tensor","activation_range":"max")"}) {
    CAPTURE(float64, more);
    const Quantized both = quantized(R"(,"activations":"int8")" + more, weight, x, float64);
    REQUIRE(both.op != nullptr);
    const Matrix got = both.applied(x, false);
    const Matrix wanted =
        product(rounded_rows(x, both.tensor<double>("channel_scale"), !more.empty()),
                transposed(both.decoded()));
    const std::vector<double> none(wanted.values.size(), 0.0);
    CHECK(std::sqrt(squares(got.values, wanted.values) / squares(wanted.values, none)) < 1e-6);
  }
}

TEST_CASE("rounded inputs are told as they multiply the dequantized weight",
          "[quantizers][activations]") {
  const Matrix weight = random_matrix(24, 96, 1);
  const Matrix x = random_matrix(300, 96, 2, true);
  const bool float64 = GENERATE(false, true);
  for (const std::string more : {"", R"(,"rotate":"all")"}) {
    CAPTURE(float64, more);
    const Quantized both = quantized(R"(,"activations":"int8")" + more, weight, x, float64);
    const Matrix inputs = both.op_inputs(x, float64);
    const Matrix wanted = both.applied(x, float64);
    CHECK(relative(product(inputs, transposed(both.dequantized)), wanted) < 1e-6);
    CHECK(relative(inputs, x) > 1e-4);
    CHECK(relative(inputs, x) < 2e-2);
  }
}

TEST_CASE("rounded inputs add their error to the weight's, and the record tells them apart",
          "[quantizers][activations]") {
  const Matrix weight = random_matrix(24, 96, 1);
  const Matrix x = random_matrix(300, 96, 2, true);
  const Matrix exact = product(x, transposed(weight));
  const std::vector<double> none(exact.values.size(), 0.0);
  const double whole = squares(exact.values, none);
  for (const char* format : {"int8", "int4", "mxfp4"}) {
    CAPTURE(format);
    const Quantized both = quantized(std::string(R"(,"activations":")") + format + "\"", weight, x);
    const Matrix got = both.applied(x);
    const Matrix weights_alone = product(x, transposed(both.dequantized));
    CHECK(both.numbers.at("weight_error") ==
          Approx(squares(weights_alone.values, exact.values) / whole).epsilon(1e-4));
    CHECK(both.numbers.at("activation_error") ==
          Approx(squares(got.values, weights_alone.values) / whole).epsilon(1e-4));
    CHECK(both.numbers.at("both_errors") ==
          Approx(squares(got.values, exact.values) / whole).epsilon(1e-4));
    CHECK(both.numbers.at("activation_error") > 0);
  }
  CHECK(quantized(R"(,"activations":"int8")", weight, x).numbers.at("activation_error") <
        quantized(R"(,"activations":"int4")", weight, x).numbers.at("activation_error"));
}

// Over awq's channel scale no column stands out, so there none is scaled here.
TEST_CASE("rounded inputs keep the columns of the largest magnitudes in float",
          "[quantizers][activations]") {
  const Matrix weight = random_matrix(24, 96, 1);
  Matrix x = random_matrix(300, 96, 2);
  for (int64_t r = 0; r < x.rows; ++r) {
    x(r, 17) *= 1000;
  }
  const bool is_awq = std::string(linked_item().id) == "awq";
  const auto error = [&](const std::string& more) {
    return quantized(R"(,"activations":"int4")" + more + (is_awq ? R"(,"unscaled":["*"])" : ""),
                     weight, x);
  };
  const Quantized kept = error(R"(,"activation_keep":1)");
  CHECK(kept.numbers.at("outlier_columns") == 1);
  CHECK(kept.numbers.at("activation_error") < 0.2 * error("").numbers.at("activation_error"));
  const Quantized fixed =
      error(R"(,"activation_keep":1,"activation_per":"tensor","activation_range":"max")");
  CHECK(fixed.numbers.at("activation_error") < 0.2 * error("").numbers.at("activation_error"));
}

TEST_CASE("rounded inputs are the same where weights stay on a device",
          "[quantizers][activations][on_device]") {
  const Matrix weight = random_matrix(24, 96, 1);
  const Matrix x = random_matrix(300, 96, 2, true);
  const matrix::LibtorchAlone as_on_a_gpu;
  QuantizerBench bench(parameters(R"(,"activations":"int8")"), 96);
  REQUIRE(bench.observe(x) == QUENCH_OK);
  const Quantized with_codes = bench.quantize(weight);
  REQUIRE(with_codes.error == "");
  const Quantized without = bench.quantize_without_codes(weight);
  REQUIRE(without.error == "");
  // gptq's column loop with codes is another one here.
  const double bound = std::string(linked_item().id) == "gptq" ? 1e-2 : 0;
  const std::vector<double> got = without.applied(x).values;
  const std::vector<double> wanted = with_codes.applied(x).values;
  const std::vector<double> none(wanted.size(), 0.0);
  CHECK(squares(got, wanted) <= bound * squares(wanted, none));
}

TEST_CASE("rounded inputs of rows from the float model are refused", "[quantizers][activations]") {
  const std::string id = linked_item().id;
  const std::string said = create_error(R"({"activations":"int8","inputs":"float"})");
  if (id == "rtn") {
    CHECK(create_error(R"({"activation_keep":4})") ==
          "rtn: activation_* has no effect without activations; wanted a format");
  } else {
    CHECK(said.find(id + ": rounded activations reach later linears; wanted inputs = ") == 0);
  }
}

TEST_CASE("a quantizer of weights gives its block an op on keys and values besides",
          "[quantizers][cache]") {
  const Matrix weight = random_matrix(24, 64, 1);
  const Matrix x = random_matrix(128, 64, 2, true);
  const Quantized plain = quantized("", weight, x);
  const Quantized cached = quantized(R"(,"cache":"int4","cache_group_size":16)", weight, x);
  CHECK(plain.cache_op == nullptr);
  REQUIRE(cached.cache_op != nullptr);
  CHECK(cached.op == nullptr);
  CHECK(cached.dequantized.values == plain.dequantized.values);
  CHECK(cached.numbers.at("cache_bits") == 4 + 32.0 / 16);
  CHECK(cached.numbers.at("bits_per_weight") == plain.numbers.at("bits_per_weight"));
  QuantizerBench bench(parameters(R"(,"cache":"int4")"), 64, 2);
  CHECK((bench.needs() & QUENCH_MAKES_CACHE_OP) != 0);
  REQUIRE(bench.observe(x) == QUENCH_OK);
  CHECK(bench.quantize(weight, 1).cache_op == nullptr);  // not the block's first linear
  if (std::string(linked_item().id) != "rtn") {
    CHECK_THAT(create_error(R"({"cache":"int4","inputs":"float"})"),
               Catch::Contains("rounded keys and values reach later linears; wanted inputs = "
                               "sequential"));
  }
}

}  // namespace quench::test
