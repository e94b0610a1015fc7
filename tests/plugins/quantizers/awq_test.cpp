// Against tests/data/awq_reference.py, which searches in float64 on the rows themselves.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "quantizers/awq/candidates.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/quantizers/block_double.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

const SafetensorsFile& reference() {
  static const SafetensorsFile kFile(source_dir() / "tests/data/awq_reference.safetensors");
  return kFile;
}

nlohmann::json cases() {
  return nlohmann::json::parse(read_file(source_dir() / "tests/data/awq_reference.json"));
}

Matrix matrix_of(const std::string& name) {
  const std::vector<int64_t> shape = reference().shape(name);
  const std::vector<float> values = reference().elements<float>(name);
  return {shape[0], shape[1], {values.begin(), values.end()}};
}

// A group of the reference's two linears that has seen its rows.
struct Group {
  explicit Group(const std::string& parameters)
      : bench(parameters, 96, 2), weights{matrix_of("W0"), matrix_of("W1")} {
    REQUIRE(bench.observe(matrix_of("X"), true) == QUENCH_OK);
  }
  void prepare() { REQUIRE(bench.prepare(weights, true) == ""); }
  QuantizerBench bench;
  std::vector<Matrix> weights;
};

}  // namespace

TEST_CASE("awq chooses the scale that a search on the rows chooses", "[quantizers][awq]") {
  size_t number = 0;
  for (const nlohmann::json& expected : cases()) {
    INFO(expected["parameters"].dump());
    Group group(expected["parameters"].dump());
    group.prepare();
    const size_t best = expected["best"];
    const std::string prefix = std::to_string(number++) + ".";
    const auto scale = reference().elements<double>(prefix + "scale");
    for (uint32_t l = 0; l < 2; ++l) {
      const Quantized result = group.bench.quantize(group.weights[l], l, true);
      REQUIRE(result.error == "");
      const auto found = result.tensor<double>("channel_scale");
      REQUIRE(found.size() == scale.size());
      for (size_t c = 0; c < scale.size(); ++c) {
        CHECK(found[c] == Approx(scale[c]).epsilon(1e-12));
      }
      const bool ties = expected["ties"];
      CHECK(result.numbers.at("search_loss") ==
            Approx(expected["losses"][best].get<double>()).epsilon(ties ? 2e-2 : 1e-5));
      if (ties) {
        continue;
      }
      const auto wanted = reference().elements<float>(prefix + "W_hat" + std::to_string(l));
      for (size_t i = 0; i < wanted.size(); ++i) {
        REQUIRE(result.dequantized.values[i] == Approx(wanted[i]).epsilon(1e-6).margin(1e-9));
      }
    }
  }
  CHECK(number == 5);
}

TEST_CASE("awq's loss of the best candidate is not above any other's", "[quantizers][awq]") {
  for (const nlohmann::json& expected : cases()) {
    Group group(expected["parameters"].dump());
    group.prepare();
    const Quantized result = group.bench.quantize(group.weights[0], 0, true);
    for (const double loss : expected["losses"]) {
      CHECK(result.numbers.at("search_loss") <= loss * (expected["ties"] ? 1.02 : 1.000001));
    }
  }
}

TEST_CASE("awq's weight is what codes, grids and channel scale say", "[quantizers][awq]") {
  Group group(R"({"bits":3,"group_size":32})");
  group.prepare();
  const Quantized result = group.bench.quantize(group.weights[0], 0, true);
  const auto scale = result.tensor<double>("channel_scale");
  const Matrix decoded = result.decoded();
  for (int64_t r = 0; r < decoded.rows; ++r) {
    for (int64_t c = 0; c < decoded.columns; ++c) {
      CHECK(result.dequantized(r, c) ==
            Approx(decoded(r, c) / scale[static_cast<size_t>(c)]).epsilon(1e-14));
    }
  }
}

// Without its neighbours' weights a linear is searched for itself.
TEST_CASE("awq searches each linear for itself where it is to share nothing", "[quantizers][awq]") {
  Group alone(R"({"group_size":32,"share":"linear"})");
  alone.prepare();
  Group unprepared(R"({"group_size":32})");
  Group shared(R"({"group_size":32})");
  shared.prepare();
  std::set<std::vector<double>> scales;
  for (uint32_t l = 0; l < 2; ++l) {
    const auto own = alone.bench.quantize(alone.weights[l], l).tensor<double>("channel_scale");
    CHECK(own == unprepared.bench.quantize(alone.weights[l], l).tensor<double>("channel_scale"));
    scales.insert(shared.bench.quantize(shared.weights[l], l).tensor<double>("channel_scale"));
  }
  CHECK(scales.size() == 1);
}

TEST_CASE("awq does not scale what it is told to leave", "[quantizers][awq]") {
  const Matrix weight = matrix_of("W0");
  for (const std::string parameters : {R"({"unscaled":["linear*"]})", R"({"unfoldable":"skip"})"}) {
    Group group(parameters);
    group.prepare();
    const Quantized result = group.bench.quantize(weight, 0, true);
    CHECK(result.tensor<double>("channel_scale").empty());
    CHECK(result.texts.at("channel_scaling").starts_with("none: "));
    CHECK(result.numbers.at("bits_per_weight") == Approx(4 + 20.0 / 96));
  }
}

TEST_CASE("awq counts a scale that nothing absorbs", "[quantizers][awq]") {
  Group group(R"({"group_size":96})");
  group.prepare();
  const Quantized result = group.bench.quantize(group.weights[0], 0, true);
  CHECK(result.texts.at("channel_scaling") == "explicit");
  CHECK(result.numbers.at("bits_per_weight") == Approx(4 + 20.0 / 96 + 16.0 / 24));
}

// Where the linears' outputs are all that is added to the stream, running the block says what the
// Gram matrix says.
TEST_CASE("awq's loss by running the block is that of the outputs", "[quantizers][awq]") {
  const Matrix x = matrix_of("X");
  std::vector<Matrix> batches;
  for (int64_t first = 0; first < x.rows; first += 100) {
    batches.push_back(
        {100,
         x.columns,
         {x.values.begin() + first * x.columns, x.values.begin() + (first + 100) * x.columns}});
  }
  linked_item();  // installs the host that the double stands on
  BlockDouble block(batches, {{"linear0", matrix_of("W0")}, {"linear1", matrix_of("W1")}});
  const auto search = [](const std::string& objective) {
    Group group(R"({"group_size":32,"candidates":6,"objective":")" + objective + "\"}");
    group.prepare();
    return group.bench.quantize(group.weights[0], 0, true);
  };
  const Quantized by_gram = search("gram");
  CHECK(block.replays() == 0);
  const Quantized by_block = search("block");
  CHECK(block.replays() == 3 * (1 + 7));  // per batch as it is, without a scale, six candidates
  CHECK(by_block.tensor<double>("channel_scale") == by_gram.tensor<double>("channel_scale"));
  for (const char* number : {"search_loss", "plain_loss"}) {
    CHECK(by_block.numbers.at(number) == Approx(by_gram.numbers.at(number)).epsilon(1e-5));
  }
}

// The same with the kernels and by rows that are compared at once, as on a GPU.
TEST_CASE("awq on a device: running the block gives the processor's scale and losses",
          "[quantizers][awq][cuda]") {
  linked_item();  // installs the host that the double stands on
  const Matrix x = random_matrix(200, 96, 3, true);
  const std::vector<Matrix> weights = {random_matrix(24, 96, 1), random_matrix(40, 96, 2)};
  BlockDouble block({x}, {{"linear0", weights[0]}, {"linear1", weights[1]}});
  const bool float64 = GENERATE(false, true);
  const bool prepares = GENERATE(false, true);  // or searches each linear for itself
  CAPTURE(float64, prepares);
  const auto run = [&] {
    QuantizerBench bench(R"({"group_size":32,"candidates":6,"objective":"block"})", 96, 2);
    REQUIRE(bench.observe(x, float64) == QUENCH_OK);
    if (prepares) {
      REQUIRE(bench.prepare(weights, float64) == "");
    }
    const Quantized out = bench.quantize(weights[0], 0, float64);
    REQUIRE(out.error == "");
    return out;
  };
  const Quantized wanted = run();
  const int replays = block.replays();
  const matrix::LibtorchAlone as_on_a_gpu;
  const Quantized got = run();
  CHECK(block.replays() == 2 * replays);
  CHECK(got.tensor<double>("channel_scale") == wanted.tensor<double>("channel_scale"));
  for (const char* number : {"search_loss", "plain_loss"}) {
    CHECK(wanted.numbers.at(number) > 0);
    CHECK(got.numbers.at(number) == Approx(wanted.numbers.at(number)).epsilon(1e-12));
  }
}

TEST_CASE("awq says that it needs a host which can run blocks", "[quantizers][awq]") {
  Group group(R"({"group_size":32,"objective":"block"})");
  CHECK_THAT(group.bench.prepare(group.weights, true), Catch::Contains("quench.block/1"));
}

TEST_CASE("awq's candidates are the published ones", "[quantizers][awq]") {
  using quantizers::candidates_of;
  const auto autoawq = candidates_of("autoawq", "on", 20);
  REQUIRE(autoawq.size() == 20);
  CHECK(autoawq[0].duo);
  CHECK(autoawq.back().ratio == Approx(0.95));
  const auto compressor = candidates_of("llm_compressor", "on", 20);
  REQUIRE(compressor.size() == 20);
  CHECK_FALSE(compressor[0].duo);
  CHECK(compressor[0].ratio == 0);
  CHECK(compressor[1].ratio == 0);
  CHECK(compressor.back().ratio == 1);
  CHECK(candidates_of("llm_compressor", "both", 20).size() == 20);
  CHECK(candidates_of("llm_compressor", "off", 20).back().ratio == 1);
}

}  // namespace quench::test
