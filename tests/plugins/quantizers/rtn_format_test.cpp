// Number formats in rtn, against blocks that numpy rounds (tests/data/number_formats_reference.py).
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "shared/matrix/on_host.hpp"
#include "shared/number_formats/number_format.hpp"
#include "shared/number_formats/scale_by_force.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

constexpr const char* kRtnFormats[] = {"mxfp4",      "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3",
                                       "mxfp8_e5m2", "nvfp4",      "fp8_e4m3",   "fp8_e5m2",
                                       "ternary",    "binary"};

const SafetensorsFile& reference() {
  static const SafetensorsFile kFile(source_dir() /
                                     "tests/data/number_formats_reference.safetensors");
  return kFile;
}

Matrix linear_weight() {
  const auto values = reference().elements<float>("W.linear");
  const auto shape = reference().shape("W.linear");
  return {shape[0], shape[1], {values.begin(), values.end()}};
}

// The reference has groups of 64 where a format has no block of its own.
std::string setting(const std::string& format, double mse = 0) {
  const bool own = number_formats::find_number_format(format)->block > 0;
  return R"({"format":")" + format + "\"" + (own ? "" : R"(,"group_size":64)") +
         (mse > 0 ? R"(,"mse":2})" : "}");
}

double squared_error(const std::string& parameters, const Matrix& weight) {
  QuantizerBench bench(parameters, weight.columns);
  const Quantized result = bench.quantize(weight);
  REQUIRE(result.error == "");
  double sum = 0;
  for (size_t i = 0; i < weight.values.size(); ++i) {
    const double error = result.dequantized.values[i] - weight.values[i];
    sum += error * error;
  }
  return sum;
}

}  // namespace

TEST_CASE("rtn rounds to a number format as the reference in numpy does",
          "[quantizers][rtn][number_formats]") {
  const Matrix weight = linear_weight();
  const bool float64 = GENERATE(false, true);
  for (const std::string format : kRtnFormats) {
    CAPTURE(format, float64);
    QuantizerBench bench(setting(format), weight.columns);
    const Quantized result = bench.quantize(weight, 0, float64);
    REQUIRE(result.error == "");
    auto wanted = reference().elements<double>(format + ".weight");
    for (double& value : wanted) {
      value = float64 ? value : static_cast<double>(static_cast<float>(value));
    }
    CHECK(differences(result.dequantized.values, wanted) == "");
  }
}

TEST_CASE("rtn with mse = 2 gives each block the scale that all tries show to be the best",
          "[quantizers][rtn][number_formats]") {
  const Matrix weight = linear_weight();
  for (const std::string name : kRtnFormats) {
    CAPTURE(name);
    const number_formats::NumberFormat& format = *number_formats::find_number_format(name);
    QuantizerBench bench(setting(name, 2), weight.columns);
    const Quantized result = bench.quantize(weight, 0, true);
    REQUIRE(result.error == "");
    const auto block = static_cast<size_t>(result.numbers.at("block"));
    double largest = 0;
    for (const double x : weight.values) {
      largest = std::max(largest, std::fabs(x));
    }
    const double tensor_scale = format.tensor_scale_of(largest);
    std::vector<double> wanted = weight.values;
    std::vector<double> wanted_scales;
    for (size_t first = 0; first < wanted.size(); first += block) {
      const double scale = number_formats::by_force::least_squares_scale(
          format, {weight.values.data() + first, block}, tensor_scale);
      for (size_t i = first; i < first + block; ++i) {
        wanted[i] = scale * format.element_of(format.code_of(wanted[i], scale));
      }
      wanted_scales.push_back(scale);
    }
    CHECK(differences(result.dequantized.values, wanted) == "");
    std::vector<double> scales = result.tensor<double>("scales");
    if (format.scale == number_formats::ScaleType::kE8M0) {
      scales.clear();
      for (const uint8_t code : result.tensor<uint8_t>("scales")) {
        scales.push_back(number_formats::decode_e8m0(code));
      }
    }
    CHECK(differences(scales, wanted_scales) == "");
    const auto bytes = result.tensor<uint8_t>("block_scales");
    CHECK((bytes.size() == scales.size()) == format.has_tensor_scale());
    for (size_t i = 0; i < bytes.size(); ++i) {
      REQUIRE(tensor_scale * number_formats::decode(number_formats::kE4M3, bytes[i]) == scales[i]);
    }
  }
}

TEST_CASE("rtn with mse = 2 errs less than with a format's own scales, and equally for binary",
          "[quantizers][rtn][number_formats]") {
  const Matrix weight = random_matrix(40, 256, 9);
  for (const std::string format : kRtnFormats) {
    CAPTURE(format);
    const double least = squared_error(setting(format, 2), weight);
    const double usual = squared_error(setting(format), weight);
    CHECK((format == "binary" ? least == usual : least < usual));
  }
  // Of the squares of normal weights: 0.190 with three levels (Max 1960, table I: 1.224, 0.612),
  // and 0.263 with the levels 0, +-0.798, which is absmean (by hand, of the normal distribution).
  double all = 0;
  for (const double x : weight.values) {
    all += x * x;
  }
  CHECK(squared_error(setting("ternary", 2), weight) / all == Approx(0.190).margin(0.01));
  CHECK(squared_error(setting("ternary"), weight) / all == Approx(0.263).margin(0.01));
}

TEST_CASE("rtn hands out a number format as a table, indices and scales as they are stored",
          "[quantizers][rtn][number_formats]") {
  const Matrix weight = linear_weight();
  for (const std::string format : kRtnFormats) {
    CAPTURE(format);
    QuantizerBench bench(setting(format), weight.columns);
    const Quantized result = bench.quantize(weight, 0, true);
    const auto indices = result.tensor<uint8_t>("indices");
    const auto table = result.tensor<double>("table");
    const auto wanted_scales = reference().elements<double>(format + ".scales");
    std::vector<double> scales;
    if (format.starts_with("mx")) {
      for (const uint8_t code : result.tensor<uint8_t>("scales")) {
        scales.push_back(std::ldexp(1.0, code - 127));
      }
    } else {
      scales = result.tensor<double>("scales");
    }
    CHECK(differences(scales, wanted_scales) == "");
    REQUIRE(indices.size() == weight.values.size());
    const size_t block = indices.size() / scales.size();
    CHECK(result.numbers.at("block") == static_cast<double>(block));
    for (size_t i = 0; i < indices.size(); ++i) {
      REQUIRE(result.dequantized.values[i] == scales[i / block] * table.at(indices[i]));
    }
    if (format == "nvfp4") {
      const auto tensor_scale = result.tensor<float>("tensor_scale");
      const auto bytes = result.tensor<uint8_t>("block_scales");
      REQUIRE(tensor_scale.size() == 1);
      REQUIRE(bytes.size() == scales.size());
      for (size_t i = 0; i < bytes.size(); ++i) {
        REQUIRE(static_cast<double>(tensor_scale[0]) *
                    number_formats::decode(number_formats::kE4M3, bytes[i]) ==
                scales[i]);
      }
    }
  }
}

TEST_CASE("rtn counts the scales of a number format", "[quantizers][rtn][number_formats]") {
  const Matrix weight = random_matrix(8, 128, 3);
  const auto bits = [&](const std::string& parameters) {
    QuantizerBench bench(parameters, 128);
    return bench.quantize(weight).numbers.at("bits_per_weight");
  };
  CHECK(bits(R"({"format":"mxfp4"})") == 4.25);
  CHECK(bits(R"({"format":"mxfp4","group_size":32})") == 4.25);
  CHECK(bits(R"({"format":"mxfp6_e2m3"})") == 6.25);
  CHECK(bits(R"({"format":"nvfp4"})") == 4.5 + 32.0 / 1024);
  CHECK(bits(R"({"format":"fp8_e5m2"})") == 8.25);
  CHECK(bits(R"({"format":"binary","group_size":-1})") == 1.25);
  CHECK(bits(R"({"format":"ternary","group_size":64})") == Approx(1.6 + 0.5));
}

TEST_CASE("rtn errs less with more bits of a number format", "[quantizers][rtn][number_formats]") {
  const Matrix weight = random_matrix(40, 256, 9);
  const auto of = [&](const std::string& format) {
    return squared_error(R"({"format":")" + format + "\"}", weight);
  };
  // E4M3 has as many bits of mantissa as E2M3 and more range, which a block's scale makes needless:
  // its largest number, 1.75 · 2^8, cuts off more than 1.875 · 2^2.
  CHECK(of("mxfp6_e2m3") < of("mxfp8_e4m3"));
  CHECK(of("mxfp8_e4m3") < of("mxfp6_e3m2"));
  CHECK(of("mxfp6_e3m2") < of("nvfp4"));
  CHECK(of("nvfp4") < of("mxfp4"));
  CHECK(of("mxfp4") < of("ternary"));
  CHECK(of("ternary") < of("binary"));
  CHECK(of("fp8_e4m3") < of("fp8_e5m2"));
  CHECK(squared_error(R"({"bits":4,"group_size":32})", weight) < of("mxfp4"));
}

TEST_CASE("rtn has the same bits of a number format for one and two threads, and on a device",
          "[quantizers][rtn][number_formats]") {
  const Matrix weight = random_matrix(100, 192, 6);
  const double mse = GENERATE(0.0, 2.0);
  for (const std::string format : kRtnFormats) {
    CAPTURE(format);
    QuantizerBench bench(setting(format, mse), 192);
    const Quantized one = bench.quantize(weight);
    const HostThreads host(2);
    CHECK(differences(bench.quantize(weight).dequantized.values, one.dequantized.values) == "");
    const matrix::LibtorchAlone as_on_a_gpu;
    const Quantized there = bench.quantize_without_codes(weight);
    CHECK(differences(there.dequantized.values, one.dequantized.values) == "");
    CHECK(there.numbers == one.numbers);
    CHECK(there.bytes.empty());
    const Quantized coded = bench.quantize(weight);
    CHECK(differences(coded.dequantized.values, one.dequantized.values) == "");
    CHECK((coded.bytes == one.bytes));
  }
}

TEST_CASE("rtn says what does not go with a number format", "[quantizers][rtn][number_formats]") {
  CHECK(create_error(R"({"format":"mxfp4","bits":3})") ==
        "rtn: bits = 3 has no effect with format = mxfp4");
  CHECK(create_error(R"({"format":"nvfp4","sym":false})") ==
        "rtn: sym = false has no effect with format = nvfp4");
  CHECK(create_error(R"({"format":"ternary","mse":2.4})") ==
        "rtn: mse = 2.4, wanted 0, or 2 for the least squared error, with format = ternary");
  CHECK(create_error(R"({"format":"ternary","mse":2})") == "");
  CHECK(create_error(R"({"format":"mxfp4","group_size":64})") ==
        "rtn: group_size = 64, but format = mxfp4 has blocks of 32");
  CHECK(create_error(R"({"format":"mxfp4","modules":["* bits=3"]})") ==
        R"(rtn: modules: got "* bits=3", wanted "PATTERN skip" with format = mxfp4)");
  CHECK_THAT(create_error(R"({"format":"fp5"})"),
             Catch::Contains("rtn: format = fp5, wanted one of mxfp4|"));
  QuantizerBench odd(R"({"format":"mxfp4"})", 48);
  CHECK(odd.quantize(random_matrix(2, 48, 1)).error ==
        "linear0: 48 columns, wanted a multiple of the block of 32 with format = mxfp4");
  QuantizerBench groups(R"({"format":"ternary"})", 200);
  CHECK(groups.quantize(random_matrix(2, 200, 1)).error ==
        "linear0: 200 columns, wanted a multiple of the group_size of 128 with format = ternary");
}

TEST_CASE("rtn refuses weights that a number format cannot hold",
          "[quantizers][rtn][number_formats]") {
  for (const std::string format : kRtnFormats) {
    CAPTURE(format);
    QuantizerBench bench(R"({"format":")" + format + "\"}", 32);
    Matrix weight = random_matrix(3, 32, 1);
    weight(1, 3) = std::numeric_limits<double>::quiet_NaN();
    CHECK(bench.quantize(weight).error == "linear0: weight[1, 3] is nan");
    weight(1, 3) = 1e300;
    const Quantized huge = bench.quantize(weight, 0, true);
    if (format.starts_with("mx")) {  // saturates at the largest scale
      CHECK(huge.error == "");
    } else {
      CHECK(huge.error.starts_with("linear0: the range of row "));
    }
  }
}

TEST_CASE("rtn keeps a module in float beside a number format",
          "[quantizers][rtn][number_formats]") {
  const Matrix weight = random_matrix(3, 32, 1);
  QuantizerBench bench(R"({"format":"mxfp4","modules":["linear* skip"]})", 32);
  const Quantized result = bench.quantize(weight);
  CHECK(differences(result.dequantized.values, weight.values) == "");
  CHECK(result.numbers.at("bits_per_weight") == 16);
}

}  // namespace quench::test
