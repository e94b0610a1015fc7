// Scoring during a quantization pass (`fused` of a metric) give the records that a
// later scoring gives.
#include <catch2/catch.hpp>
#include <set>

#include "core/store/record_schema.hpp"
#include "tests/regression/program.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

using nlohmann::json;

namespace {

constexpr uint64_t kIds = 2000;  // that the metric scores

// A small model, and passes of three kinds: without data, of one setting, of two together.
class SmallRun {
 public:
  SmallRun() {
    write_template_checkpoint(folder_ / "model");
    std::string text;
    for (uint64_t i = 0; i < kIds; ++i) {
      text += static_cast<char>('a' + i * i % 26);
    }
    folder_.write("text.txt", text);
  }

  std::string manifest(const std::string& of_metric) const {
    return "checkpoints: {model: \"" + (folder_ / "model").string() +
           "\", tokenizer: bytes}\n"
           "calibration: {c: {corpus: t, sequences: 4, length: 64}}\n"
           "quantizers:\n"
           "  - rtn: {bits: 3, group_size: 16}\n"
           "  - gptq: {bits: 3, group_size: 16}\n    calibration: c\n"
           "  - gptq: {bits: [2, 4], group_size: 16, inputs: float}\n    calibration: c\n"
           "metrics:\n  - validation_loss: {corpus: t, block: 50}\n" +
           of_metric + "corpora: {t: {text: {path: \"" + (folder_ / "text.txt").string() +
           "\"}}}\n";
  }

  // The losses of a run; runs with the same home share a store.
  std::vector<json> losses(const std::string& of_metric, const std::string& home) {
    if (!std::filesystem::exists(folder_ / home)) {
      make_home(folder_ / home);
    }
    const std::string name = "run" + std::to_string(++runs_);
    const auto file = folder_.write(name + ".yaml", manifest(of_metric));
    return records_of(quench_json({"run", file.string(), "--out", (folder_ / name).string(),
                                   "--plugin-path", template_plugins().string()},
                                  {{"QUENCH_HOME", (folder_ / home).string()}}),
                      "validation_loss");
  }

 private:
  TemporaryDir folder_;
  int runs_ = 0;
};

uint64_t fused_tokens(const json& record) {
  return record.at("details").value("fused_tokens", uint64_t{0});
}

}  // namespace

TEST_CASE("run: fused scoring changes nothing that records are compared by", "[regression][run]") {
  SmallRun small;
  std::vector<json> later = small.losses("", "home");
  std::vector<json> fused = small.losses("    fused: true\n", "other");
  REQUIRE(later.size() == 5);  // float, and four settings
  REQUIRE(fused.size() == later.size());
  std::set<double> values;
  for (size_t i = 0; i < later.size(); ++i) {
    CAPTURE(i);
    values.insert(later[i].at("value").get<double>());
    CHECK(fused[i].at("value").get<double>() == later[i].at("value").get<double>());
    CHECK(fused[i].at("items") == later[i].at("items"));
    CHECK(fused[i].at("key") == later[i].at("key"));
    CHECK(fused_tokens(later[i]) == 0);
    CHECK(fused_tokens(fused[i]) == (i == 0 ? 0 : kIds));
    strip_not_compared(later[i]);
    strip_not_compared(fused[i]);
    CHECK(fused[i] == later[i]);
  }
  CHECK(values.size() == later.size());
  CHECK(fused[4].at("quantizer").at("params").at("inputs") == "float");
}

TEST_CASE("run: what was measured without fused scoring is done with it", "[regression][run]") {
  SmallRun small;
  const std::vector<json> first = small.losses("", "home");
  const std::vector<json> second = small.losses("    fused: true\n", "home");
  REQUIRE(second.size() == first.size());
  for (size_t i = 0; i < second.size(); ++i) {
    CHECK(first[i].at("cached").is_null());
    CHECK(second[i].at("cached").is_string());
    CHECK(fused_tokens(second[i]) == 0);  // as the first run measured it
  }
}

TEST_CASE("run: fused scoring begins when it is known what is scored", "[regression][run]") {
  SmallRun small;
  const std::vector<json> later = small.losses("    of: quantized\n", "home");
  const std::vector<json> fused = small.losses("    of: quantized\n    fused: true\n", "other");
  REQUIRE(fused.size() == 4);
  for (size_t i = 0; i < fused.size(); ++i) {
    CHECK(fused[i].at("value").get<double>() == later.at(i).at("value").get<double>());
    CHECK(fused_tokens(fused[i]) == (i == 0 ? 0 : kIds));
  }
}

}  // namespace quench::test
