#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/plugin_library.hpp"
#include "tests/support/score_recorder.hpp"

using namespace quench::test;
using nlohmann::json;

namespace {

const quench_item& item() {
  return plugin_item(METRICS_DIR "/validation_loss.so", "metric");
}

std::vector<int32_t> counting(int32_t first, size_t count) {
  std::vector<int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// nll = id / 10, so that every expected number can be worked out by hand.
double tenth(const std::vector<int32_t>& row, size_t t) {
  return row[t] / 10.0;
}

}  // namespace

TEST_CASE("validation_loss joins documents, drops the last partial block, scores positions 2..B",
          "[metrics][validation_loss]") {
  // 3 + 8 ids, B = 4: blocks 0 1 2 3 | 4 5 6 7, and 8 9 10 are dropped.
  const TokenizedDocuments text = {{counting(0, 3), counting(3, 8)}, {10, 45}};
  const Measurement measured = measure(item(), {{"corpus", "v"}, {"block", 4}}, text, tenth);
  REQUIRE(measured.message == "");
  CHECK(measured.score_calls == 1);
  CHECK(measured.rows == std::vector<std::vector<int32_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}});
  REQUIRE(measured.values.size() == 1);
  // Block means (1+2+3)/30 = 0.2 and (5+6+7)/30 = 0.6.
  CHECK(measured.items.at("block_nll")[0] == Approx(0.2).epsilon(1e-15));
  CHECK(measured.items.at("block_nll")[1] == Approx(0.6).epsilon(1e-15));
  CHECK(measured.values[0].name == "validation_loss");
  CHECK(measured.values[0].value == Approx(0.4).epsilon(1e-15));
  CHECK(measured.values[0].unit == "nats/token");
  CHECK(measured.values[0].direction == QUENCH_LOWER_IS_BETTER);
  // Deviation of 0.2, 0.6 is 0.2828; over sqrt(2): 0.2.
  CHECK(measured.values[0].standard_error == Approx(0.2).epsilon(1e-14));
  CHECK(measured.details.at("tokens") == 11);
  CHECK(measured.details.at("scored") == 6);
  CHECK(measured.details.at("blocks") == 2);
  CHECK(measured.details.at("perplexity") == Approx(std::exp(0.4)).epsilon(1e-15));
  CHECK(measured.details.at("bits_per_byte") ==
        Approx(0.4 / std::log(2.0) * 11 / 55).epsilon(1e-15));
}

TEST_CASE("validation_loss says which loss belongs to which document",
          "[metrics][validation_loss]") {
  // Documents 0 1 2 | 3 4 5 6 | 7 8 | 9 10 11 12 | 13, B = 4: blocks 0-3, 4-7, 8-11 whose first
  // positions are not scored; 12 and 13 are dropped.
  const std::vector<std::vector<int32_t>> text = {counting(0, 3), counting(3, 4), counting(7, 2),
                                                  counting(9, 4), counting(13, 1)};
  const Measurement measured = measure(item(), {{"corpus", "v"}, {"block", 4}}, {text, {}}, tenth);
  REQUIRE(measured.message == "");
  const json documents = measured.json.at("documents");
  CHECK(documents.at("scored") == json{2, 3, 1, 3});
  const auto sums = documents.at("nll").get<std::vector<double>>();
  REQUIRE(sums.size() == 4);
  for (const auto& [d, sum] : {std::pair(0, 0.3), {1, 1.4}, {2, 0.7}, {3, 3.0}}) {
    CHECK(sums[static_cast<size_t>(d)] == Approx(sum).epsilon(1e-14));  // 1+2, 3+5+6, 7, 9+10+11
  }
  // Together they are the loss.
  CHECK(std::accumulate(sums.begin(), sums.end(), 0.0) / 9 ==
        Approx(measured.values.at(0).value).epsilon(1e-14));
}

TEST_CASE("validation_loss does not call a single document a sample",
          "[metrics][validation_loss]") {
  const Measurement measured =
      measure(item(), {{"corpus", "v"}, {"block", 4}}, {{counting(0, 8)}, {}}, tenth);
  REQUIRE(measured.message == "");
  CHECK(measured.json.count("documents") == 0);
}

TEST_CASE("validation_loss leaves bits per byte out where the size of the text is unknown",
          "[metrics][validation_loss]") {
  const Measurement measured =
      measure(item(), {{"corpus", "v"}, {"block", 4}}, {{counting(0, 4)}, {}}, tenth);
  REQUIRE(measured.message == "");
  CHECK(measured.details.count("bits_per_byte") == 0);
  CHECK(std::isnan(measured.values.at(0).standard_error));  // of a single block
}

TEST_CASE("validation_loss refuses a corpus smaller than one block", "[metrics][validation_loss]") {
  const Measurement measured = measure(item(), {{"corpus", "v"}}, {{counting(0, 2047)}, {}}, tenth);
  CHECK(measured.status == QUENCH_FAILED_PRECONDITION);
  CHECK(measured.message ==
        "corpus `some_text` is smaller than one block: got 2047 ids, wanted at least 2048");
  CHECK(measured.score_calls == 0);
}

TEST_CASE("validation_loss fails where the model's loss is not finite",
          "[metrics][validation_loss]") {
  const double broken =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  const auto rule = [broken](const std::vector<int32_t>& row, size_t t) {
    return row[t] == 6 ? broken : 1.0;
  };
  const Measurement measured =
      measure(item(), {{"corpus", "v"}, {"block", 4}}, {{counting(0, 8)}, {}}, rule);
  CHECK(measured.status == QUENCH_NUMERICAL);
  CHECK_THAT(measured.message, Catch::StartsWith("block 1, position 3: the model's nll is "));
  CHECK(measured.values.empty());
}

TEST_CASE("validation_loss publishes its block with a lower bound of two",
          "[metrics][validation_loss]") {
  REQUIRE(item().parameter_count == 2);
  CHECK(item().parameters[0].default_json == nullptr);
  CHECK(item().parameters[0].type == QUENCH_PARAMETER_CORPUS);
  CHECK(item().parameters[1].name == std::string("block"));
  CHECK(item().parameters[1].minimum == 2);
  CHECK(item().parameters[1].default_json == std::string("2048"));
}
