// A whole block: a stand-in for the host's service that has values and derivatives worked by hand.
#include <catch2/catch.hpp>

#include "tests/plugins/quantizers/gated_block.hpp"
#include "tests/plugins/quantizers/quantizer_bench.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/host_threads.hpp"

namespace quench::test {

namespace {

// Two linears of 96 inputs, and rows in which the quantized model's are a little off the float's.
struct Block {
  explicit Block(uint64_t seed, int batches = 3) {
    linked_item();  // installs the host that the double stands on
    for (uint64_t l = 0; l < 2; ++l) {
      weights.push_back(random_matrix(20, 96, 10 * seed + l));
      for (double& value : weights.back().values) {
        value = static_cast<float>(0.1 * value);
      }
    }
    for (int b = 0; b < batches; ++b) {
      const auto own = 1000 * seed + 10 * static_cast<uint64_t>(b);
      float_rows.push_back(random_matrix(24, 96, own, true));
      rows.push_back(float_rows.back());
      const Matrix off = random_matrix(24, 96, own + 1);
      for (size_t i = 0; i < off.values.size(); ++i) {
        rows.back().values[i] += 0.02 * off.values[i];
      }
    }
  }
  std::vector<Matrix> weights, rows, float_rows;
};

struct Result {
  std::vector<Quantized> linears;
  std::vector<Matrix> weights;
  double number(const std::string& name) const { return linears[0].numbers.at(name); }
};

Result tuned(const Block& block, const std::string& parameters, bool float64 = true) {
  QuantizerBench bench(parameters, 96, 2);
  for (const Matrix& rows : block.rows) {
    REQUIRE(bench.observe(rows, float64) == QUENCH_OK);
  }
  REQUIRE(bench.prepare(block.weights, float64) == "");
  Result result;
  for (uint32_t l = 0; l < 2; ++l) {
    result.linears.push_back(bench.quantize(block.weights[l], l, float64));
    INFO(result.linears.back().error);
    REQUIRE(result.linears.back().status == QUENCH_OK);
    CHECK_FALSE(result.linears.back().texts.contains("objective"));  // the block was there
    result.weights.push_back(result.linears.back().dequantized);
  }
  return result;
}

}  // namespace

TEST_CASE("autoround minimizes the error of the block's output", "[quantizers][autoround]") {
  const std::string target = GENERATE("float", "quantized");
  int below = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Block block(seed);
    GatedBlock service(block.rows, block.float_rows, block.weights);
    const std::string rest = "{\"bits\":" + std::to_string(2 + seed % 2) +
                             ",\"group_size\":32,\"target\":\"" + target + "\",\"iterations\":";
    const Result plain = tuned(block, rest + "0}");
    const Result best = tuned(block, rest + "60}");
    const std::vector<Matrix>& wanted = target == "float" ? block.float_rows : block.rows;
    const double error = GatedBlock::mean_error(block.rows, best.weights, wanted, block.weights);
    const double plain_error =
        GatedBlock::mean_error(block.rows, plain.weights, wanted, block.weights);
    CAPTURE(seed, target, error, plain_error);
    CHECK(best.number("tuned_loss") == Approx(error).epsilon(1e-10));
    CHECK(best.number("plain_loss") == Approx(plain_error).epsilon(1e-10));
    CHECK(plain.number("tuned_loss") == Approx(plain_error).epsilon(1e-10));
    CHECK(best.linears[1].numbers.at("tuned_loss") == best.number("tuned_loss"));
    CHECK(error <= plain_error);
    below += error < 0.7 * plain_error ? 1 : 0;
  }
  CHECK(below >= 5);
}

// The float target also makes up for what the inputs have lost, which the own output cannot show.
TEST_CASE("autoround with the float model's target comes nearer to it", "[quantizers][autoround]") {
  double by_float = 0;
  double by_own = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Block block(seed);
    GatedBlock service(block.rows, block.float_rows, block.weights);
    const auto error = [&](const std::string& target) {
      const Result made = tuned(block, R"({"bits":3,"group_size":32,"target":")" + target + "\"}");
      return GatedBlock::mean_error(block.rows, made.weights, block.float_rows, block.weights);
    };
    by_float += error("float");
    by_own += error("quantized");
  }
  CHECK(by_float < by_own);
}

TEST_CASE("autoround on drawn batches is never worse than rounding to nearest on all",
          "[quantizers][autoround]") {
  int kept = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Block block(seed, 6);
    GatedBlock service(block.rows, block.float_rows, block.weights);
    // Three steps as long as a code: most of them make it worse.
    const std::string rest = R"({"bits":4,"group_size":32,"batch_tokens":24,"lr":1,"iterations":)" +
                             std::to_string(1 + seed % 5);
    const Result made = tuned(block, rest + "}");
    const Result plain = tuned(block, R"({"bits":4,"group_size":32,"iterations":0})");
    const double error =
        GatedBlock::mean_error(block.rows, made.weights, block.float_rows, block.weights);
    const double plain_error =
        GatedBlock::mean_error(block.rows, plain.weights, block.float_rows, block.weights);
    CAPTURE(seed);
    CHECK(error <= plain_error);
    CHECK(made.number("tuned_loss") == Approx(error).epsilon(1e-10));
    CHECK(made.number("plain_loss") == Approx(plain_error).epsilon(1e-10));
    if (made.number("iteration") == 0) {
      ++kept;
      CHECK(differences(made.linears[1].codes, plain.linears[1].codes) == "");
      CHECK(differences(made.linears[1].scales, plain.linears[1].scales) == "");
    }
  }
  CHECK(kept > 0);
}

TEST_CASE("autoround asks for as many batches as its steps have tokens",
          "[quantizers][autoround]") {
  const Block block(1, 6);
  const auto asked = [&](const std::string& parameters) {
    GatedBlock service(block.rows, block.float_rows, block.weights);
    tuned(block, parameters);
    return service.asked().size();
  };
  CHECK(asked(R"({"group_size":32,"batch_tokens":48,"iterations":5})") == 10);
  CHECK(asked(R"({"group_size":32,"iterations":5})") == 30);
}

TEST_CASE("autoround tunes a block without the linears that it is to leave",
          "[quantizers][autoround]") {
  const Block block(2);
  GatedBlock service(block.rows, block.float_rows, block.weights);
  const Result made =
      tuned(block, R"({"bits":3,"group_size":32,"iterations":20,"modules":["linear0 skip"]})");
  CHECK(differences(made.weights[0].values, block.weights[0].values) == "");
  CHECK(made.linears[0].texts.at("skipped") == "kept in float, counted as 16 bits");
  const double error =
      GatedBlock::mean_error(block.rows, made.weights, block.float_rows, block.weights);
  CHECK(made.linears[1].numbers.at("tuned_loss") == Approx(error).epsilon(1e-10));
}

TEST_CASE("autoround's block has the same bits on any number of threads",
          "[quantizers][autoround]") {
  const Block block(3);
  const bool float64 = GENERATE(false, true);
  const auto run = [&] {
    GatedBlock service(block.rows, block.float_rows, block.weights);
    return tuned(block, R"({"bits":3,"group_size":32,"iterations":10,"batch_tokens":48})", float64);
  };
  const Result one = run();
  const HostThreads several(3);
  const Result many = run();
  for (size_t l = 0; l < 2; ++l) {
    CHECK(differences(many.linears[l].codes, one.linears[l].codes) == "");
    CHECK(differences(many.linears[l].scales, one.linears[l].scales) == "");
  }
}

TEST_CASE("autoround names a host that cannot differentiate a block", "[quantizers][autoround]") {
  const Block block(4);
  GatedBlock service(block.rows, block.float_rows, block.weights);
  service.forget_gradients();
  QuantizerBench bench(R"({"group_size":32})", 96, 2);
  REQUIRE(bench.observe(block.rows[0]) == QUENCH_OK);
  CHECK(bench.prepare(block.weights) ==
        "objective = block: this host cannot differentiate a block; wanted quench with ABI 1.1, or "
        "objective = linear");
}

TEST_CASE("autoround refuses another weight than the block was tuned with",
          "[quantizers][autoround]") {
  const Block block(5);
  GatedBlock service(block.rows, block.float_rows, block.weights);
  QuantizerBench bench(R"({"group_size":32,"iterations":2})", 96, 2);
  REQUIRE(bench.observe(block.rows[0]) == QUENCH_OK);
  REQUIRE(bench.prepare(block.weights) == "");
  Matrix scaled = block.weights[0];
  scaled(3, 5) *= 2;
  const Quantized result = bench.quantize(scaled);
  CHECK(result.status == QUENCH_UNSUPPORTED);
  CHECK(result.error ==
        "linear0: the weight is not the one that its block was tuned with (a transform that scales "
        "inputs as the model runs?); wanted objective = linear");
}

TEST_CASE("autoround without a block tunes a linear alone, and says so",
          "[quantizers][autoround]") {
  const Matrix weight = random_matrix(16, 96, 1);
  const Matrix x = random_matrix(200, 96, 2, true);
  const auto run = [&](const std::string& rest) {
    QuantizerBench bench(R"({"bits":3,"group_size":32,"iterations":20)" + rest + "}", 96);
    REQUIRE(bench.observe(x) == QUENCH_OK);
    return bench.quantize(weight);
  };
  const Quantized alone = run("");
  const Quantized asked = run(R"(,"objective":"linear")");
  CHECK(alone.texts.at("objective") == "linear: no block to run it in");
  CHECK_FALSE(asked.texts.contains("objective"));
  CHECK(differences(alone.codes, asked.codes) == "");
  CHECK(alone.numbers == asked.numbers);
}

}  // namespace quench::test
