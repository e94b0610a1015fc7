// Rounding of inputs against tests/data/activations_reference.py, which rounds by tables in numpy's
// float64, and against the published operator (bench/peers/activations_published.py).
#include <ATen/ops/from_blob.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "quantizers/inputs/rounded_linear.hpp"
#include "quench/kit/error.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

using quantizers::ActivationSettings;
using quantizers::InputRounding;
using quantizers::InputStatistics;

const SafetensorsFile& reference() {
  static const SafetensorsFile kFile(source_dir() / "tests/data/activations_reference.safetensors");
  return kFile;
}

// Parameters that are not there keep their defaults.
ActivationSettings settings_of(const nlohmann::json& parameters) {
  ActivationSettings out;
  out.activations = parameters.at("activations");
  out.activation_sym = parameters.value("activation_sym", out.activation_sym);
  out.activation_per = parameters.value("activation_per", out.activation_per);
  out.activation_group_size = parameters.value("activation_group_size", out.activation_group_size);
  out.activation_range = parameters.value("activation_range", out.activation_range);
  out.activation_percentile = parameters.value("activation_percentile", out.activation_percentile);
  out.activation_keep = parameters.value("activation_keep", out.activation_keep);
  out.activation_threshold = parameters.value("activation_threshold", out.activation_threshold);
  return out;
}

at::Tensor tensor_of(std::vector<float>& values, int64_t columns) {
  linked_item();  // installs the host
  return at::from_blob(values.data(), {static_cast<int64_t>(values.size()) / columns, columns},
                       at::TensorOptions(at::kFloat));
}

// `values` rounded, with statistics of `calibration`.
std::vector<float> rounded(const ActivationSettings& settings, std::vector<float> values,
                           int64_t columns, std::vector<float> calibration = {}) {
  InputStatistics statistics(columns, settings);
  if (!calibration.empty()) {
    const size_t half = calibration.size() / 2 / static_cast<size_t>(columns);  // in two calls
    const at::Tensor rows = tensor_of(calibration, columns);
    statistics.observe(rows.narrow(0, 0, static_cast<int64_t>(half)));
    statistics.observe(
        rows.narrow(0, static_cast<int64_t>(half), rows.size(0) - static_cast<int64_t>(half)));
  }
  InputRounding(settings, columns, &statistics, {}, "a.b").round(tensor_of(values, columns));
  return values;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

Matrix matrix_of(const std::string& name) {
  const std::vector<int64_t> shape = reference().shape(name);
  const std::vector<float> values = reference().elements<float>(name);
  return {shape[0], shape[1], {values.begin(), values.end()}};
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(a[i] - b[i]));
  }
  return most;
}

double largest(const std::vector<double>& values) {
  return distance(values, std::vector<double>(values.size(), 0.0));
}

}  // namespace

TEST_CASE("inputs round to the bits of a reference by tables in float64",
          "[quantizers][activations]") {
  const auto document =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/activations_reference.json"));
  std::set<std::string> formats;
  for (const nlohmann::json& entry : document.at("cases")) {
    CAPTURE(entry.dump());
    const ActivationSettings settings = settings_of(entry.at("parameters"));
    const std::string name = entry.at("name");
    CHECK(differences(rounded(settings, reference().elements<float>("X"), 96,
                              reference().elements<float>("C")),
                      reference().elements<float>("rounded." + name)) == "");
    formats.insert(settings.activations);
  }
  CHECK(formats.size() == 15);
}

// The operator's scales and quotients are float32: a quotient at a tie, as that of each range's
// negative end, may get the other code, as far away. Of 8192 values 27 do with 256 ranges.
TEST_CASE("inputs round as compressed-tensors' fake quantization does, but for ties",
          "[quantizers][activations]") {
  const SafetensorsFile file(source_dir() / "tests/data/activations_published.safetensors");
  const std::vector<float> x = file.elements<float>("X");
  for (const auto& [name, parameters] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"int8", {{"activations", "int8"}}},
           {"int4", {{"activations", "int4"}}},
           {"int8.tensor", {{"activations", "int8"}, {"activation_per", "tensor"}}},
           {"int4.group32",
            {{"activations", "int4"}, {"activation_per", "group"}, {"activation_group_size", 32}}},
           {"fp8_e4m3", {{"activations", "fp8_e4m3"}}}}) {
    CAPTURE(name);
    const std::vector<float> got = rounded(settings_of(parameters), x, 256);
    const std::vector<float> wanted = file.elements<float>(name);
    int others = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::fabs(got[i] - wanted[i]) > 1e-5F * std::fabs(wanted[i])) {
        ++others;  // half-way between both
        REQUIRE(std::fabs(x[i] - got[i]) ==
                Approx(std::fabs(x[i] - wanted[i])).epsilon(1e-4).margin(1e-5 * std::fabs(x[i])));
      }
    }
    CHECK(others <= 40);
  }
}

TEST_CASE("inputs with more bits are nearer to what they were, and mxfp8 is nearer than mxfp4",
          "[quantizers][activations]") {
  const std::vector<float> x = reference().elements<float>("X");
  const auto off = [&](const char* format) {
    const std::vector<float> got = rounded(settings_of({{"activations", format}}), x, 96);
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += std::pow(static_cast<double>(got[i]) - x[i], 2);
    }
    return sum;
  };
  for (const char* format : {"int7", "int6", "int5", "int4", "int3"}) {
    std::string more = format;
    ++more[3];
    CAPTURE(format);
    CHECK(off(more.c_str()) < off(format));
  }
  CHECK(off("mxfp8_e4m3") < off("mxfp6_e2m3"));
  CHECK(off("mxfp6_e2m3") < off("mxfp4"));
  CHECK(off("nvfp4") < off("mxfp4"));
}

TEST_CASE("inputs have the same bits for one thread and three", "[quantizers][activations]") {
  const Matrix x = random_matrix(70, 96, 3, true);
  const std::vector<float> values(x.values.begin(), x.values.end());
  for (const nlohmann::json& parameters : std::vector<nlohmann::json>{
           {{"activations", "int4"}, {"activation_per", "tensor"}, {"activation_range", "max"}},
           {{"activations", "int4"}, {"activation_per", "tensor"}},
           {{"activations", "nvfp4"}, {"activation_keep", 5}}}) {
    const ActivationSettings settings = settings_of(parameters);
    std::vector<float> one;
    std::vector<float> three;
    {
      const HostThreads threads(1);
      one = rounded(settings, values, 96, values);
    }
    {
      const HostThreads threads(3);
      three = rounded(settings, values, 96, values);
    }
    CHECK(differences(three, one) == "");
  }
}

TEST_CASE("inputs that are not finite are refused with linear, row and column",
          "[quantizers][activations]") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(96 * 3, 1.0F);
    values[96 + 5] = bad;
    const std::string error = error_of([&] {
      rounded(settings_of({{"activations", "int8"}}), values, 96);
    });
    CHECK(error.find("a.b: input: row 1, column 5 is ") == 0);
  }
}

TEST_CASE("inputs whose groups or blocks do not divide the columns are refused",
          "[quantizers][activations]") {
  linked_item();
  const auto refused = [](const nlohmann::json& parameters, int64_t columns) {
    return error_of([&] { InputRounding(settings_of(parameters), columns, nullptr, {}, "a.b"); });
  };
  CHECK(refused({{"activations", "int8"}, {"activation_per", "group"}}, 96) ==
        "a.b: activation_group_size = 128 does not divide the 96 columns that it cuts");
  CHECK(refused({{"activations", "mxfp4"}}, 100) ==
        "a.b: the block of the format = 32 does not divide the 100 columns that it cuts");
}

// A weight of 3 rows and 2 columns by hand; rtn with 8 bits holds it exactly at these values.
TEST_CASE("activations multiplies rounded inputs by the float weight",
          "[quantizers][activations]") {
  QuantizerBench bench(R"({"activations":"int2"})", 4);
  CHECK((bench.needs() & QUENCH_MAKES_LINEAR_OP) != 0);
  CHECK((bench.needs() & QUENCH_NEEDS_ROWS) == 0);
  const Matrix weight = matrix({{1, 0, 0, 0}, {0, 1, 1, 0}, {0.25, 0, 0, -3}});
  const Quantized result = bench.quantize(weight);
  REQUIRE(result.error == "");
  CHECK(result.dequantized.values == weight.values);
  CHECK(result.texts.at("activations") == "int2");
  CHECK(result.numbers.at("activation_bits") == 2 + 16.0 / 4);
  // a = 3: steps of 2, codes -2 .. 1, so -3 becomes -4 (half to even), 3 and 1.2 become 2.
  CHECK(result.applied(matrix({{-3, 3, 1.2, 0.9}})).values == std::vector<double>{-4, 4, -1});
}

TEST_CASE("activations gives the reference's products within float32's rounding",
          "[quantizers][activations]") {
  const auto document =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/activations_reference.json"));
  int compared = 0;
  for (const nlohmann::json& entry : document.at("cases")) {
    const std::string product = "product." + entry.at("name").get<std::string>();
    if (!reference().has(product)) {
      continue;
    }
    CAPTURE(entry.dump());
    ++compared;
    QuantizerBench bench(entry.at("parameters").dump(), 96);
    REQUIRE(bench.observe(matrix_of("C")) == QUENCH_OK);
    const Quantized result = bench.quantize(matrix_of("W"));
    REQUIRE(result.error == "");
    CHECK(result.numbers.at("outlier_columns") == static_cast<double>(entry.at("kept").size()));
    const std::vector<double> wanted = reference().elements<double>(product);
    const std::vector<double> got = result.applied(matrix_of("X")).values;
    CHECK(distance(got, wanted) <= 1e-6 * largest(wanted));
    CHECK(distance(got, wanted) > 0);  // a witness of its own
  }
  CHECK(compared == 8);
}

TEST_CASE("activations reports the errors of its inputs on the calibration rows",
          "[quantizers][activations]") {
  const Matrix weight = random_matrix(24, 96, 1);
  const Matrix x = random_matrix(300, 96, 2, true);
  QuantizerBench bench(R"({"activations":"int4"})", 96);
  REQUIRE(bench.observe(x) == QUENCH_OK);
  const Quantized result = bench.quantize(weight);
  REQUIRE(result.error == "");
  const std::vector<double> exact = product(x, transposed(weight)).values;
  const std::vector<double> got = result.applied(x).values;
  double error = 0;
  double whole = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    error += std::pow(got[i] - exact[i], 2);
    whole += std::pow(exact[i], 2);
  }
  CHECK(result.numbers.at("weight_error") == 0);
  CHECK(result.numbers.at("activation_error") == Approx(error / whole).epsilon(1e-5));
  CHECK(result.numbers.at("both_errors") == Approx(error / whole).epsilon(1e-5));
  CHECK(error / whole > 1e-4);
}

TEST_CASE("activations takes static ranges and columns from rows, and says where there are none",
          "[quantizers][activations]") {
  const std::string parameters =
      R"({"activations":"int8","activation_per":"tensor","activation_range":"max"})";
  QuantizerBench without(parameters, 96);
  CHECK((without.needs() & QUENCH_NEEDS_ROWS) != 0);
  const Quantized refused = without.quantize(random_matrix(24, 96, 1));
  CHECK(refused.status == QUENCH_FAILED_PRECONDITION);
  CHECK(refused.error ==
        "linear0: activation_range, activation_keep and activation_threshold take ranges from "
        "calibration rows, and there are none");
  // An expert that no row reaches has a Gram matrix from elsewhere.
  QuantizerBench other(R"({"activations":"int8"})", 96);
  REQUIRE(other.observe(random_matrix(300, 96, 2)) == QUENCH_OK);
  quench_tensor gram{};
  double rows = 0;
  quench_error error{sizeof error, 0, {}};
  REQUIRE(other.gram().gram_get(other.quantizer(), other.state(), &gram, &rows, &error) ==
          QUENCH_OK);
  QuantizerBench unreached(parameters, 96);
  REQUIRE(unreached.gram().gram_set(unreached.quantizer(), unreached.state(), &gram, 1, &error) ==
          QUENCH_OK);
  const Quantized result = unreached.quantize(random_matrix(24, 96, 1));
  REQUIRE(result.error == "");
  CHECK(result.texts.at("activation_fallback") ==
        "dynamic, all columns: no calibration row reached this group");
  CHECK(!result.numbers.contains("activation_error"));
}

TEST_CASE("activations refuses settings that contradict each other", "[quantizers][activations]") {
  CHECK(create_error(R"({"activations":"int8"})") == "");
  const auto refused = [](const std::string& parameters, const std::string& why) {
    CAPTURE(parameters);
    CHECK(create_error(parameters) == "activations: " + why);
  };
  refused(R"({"activations":"float"})",
          "activations = float rounds nothing; wanted a format, cache or rotate");
  refused(R"({"activations":"float","activation_keep":2})",
          "activation_* has no effect without activations; wanted a format");
  refused(R"({"activations":"int8","activation_group_size":32})",
          "activation_group_size has no effect; wanted activation_per = group");
  refused(R"({"activations":"int8","activation_percentile":99})",
          "activation_percentile has no effect; wanted activation_range = percentile");
  refused(R"({"activations":"int8","activation_range":"max"})",
          "a calibrated activation_range is not of one token; wanted activation_per = tensor or "
          "group");
  refused(R"({"activations":"int8","activation_range":"percentile","activation_per":"group"})",
          "activation_range = percentile is of all values; wanted activation_per = tensor");
  refused(R"({"activations":"int8","activation_range":"percentile","activation_per":"tensor",)"
          R"("activation_keep":1})",
          "activation_range = percentile clips the outliers that activation_keep and "
          "activation_threshold keep; wanted one of them");
  refused(R"({"activations":"int8","activation_keep":1,"activation_threshold":6})",
          "activation_keep and activation_threshold both choose columns; wanted one");
  refused(R"({"activations":"mxfp4","activation_per":"tensor"})",
          "activations = mxfp4 has scales for blocks of 32 columns of its own; wanted "
          "activation_per = token and activation_range = dynamic");
  refused(R"({"activations":"nvfp4","activation_per":"group"})",
          "activations = nvfp4 has scales for blocks of 16 columns of its own; wanted "
          "activation_per = token or tensor");
  refused(R"({"activations":"fp8_e4m3","activation_sym":false})",
          "activation_sym is of integers, and activations = fp8_e4m3 has a sign");
}

}  // namespace quench::test
