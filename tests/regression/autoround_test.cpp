// AutoRound on trained fixture models of every family, with data for calibration and text to score
// that have nothing in common.
#include <catch2/catch.hpp>
#include <map>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test::autoround {

namespace {

const std::vector<std::string> kModels = {"apertus", "gpt_neox-seq", "gpt_neox-small",
                                          "llama",   "olmo-clip",    "olmo-tied",
                                          "olmo2",   "opensci",      "smollm3"};

// Records by model and label, "llama/rtn"; that of the float model is "llama/float". `quantizers`
// are entries of a manifest.
std::map<std::string, nlohmann::json> run(const std::vector<std::string>& models,
                                          const std::string& quantizers, int sequences,
                                          std::vector<std::string> arguments = {}) {
  const std::string text = read_file(public_data("text/tinyshakespeare.txt"));
  const TemporaryDir folder;
  const auto trained = folder.write("trained.txt", text.substr(20000, 60000));
  const auto unseen = folder.write("unseen.txt", text.substr(ValidationText::kFrom, 12000));
  std::string branches;
  for (const std::string& model : models) {
    branches += "    " + model + ": {model: " + fixture("models/" + model).string() + "}\n";
  }
  const nlohmann::json data = run_manifest(
      "checkpoints:\n  branches:\n" + branches +
          "calibration:\n  text: {corpus: trained, sequences: " + std::to_string(sequences) +
          ", length: 64, packing: concat}\nquantizers:\n" + quantizers +
          "metrics:\n  - validation_loss: {corpus: unseen, block: 64}\ncorpora:\n  trained: {text: "
          "{path: " +
          trained.string() + "}}\n  unseen: {text: {path: " + unseen.string() + "}}\n",
      std::move(arguments));
  std::map<std::string, nlohmann::json> out;
  for (const nlohmann::json& record : records_of(data, "validation_loss")) {
    INFO(record.dump());
    REQUIRE(record.at("error").is_null());
    const nlohmann::json& quantizer = record.at("quantizer");
    out[record.at("checkpoint").at("branch").get<std::string>() + "/" +
        (quantizer.is_null() ? "float" : quantizer.at("label").get<std::string>())] = record;
  }
  return out;
}

std::string tuned(const std::string& label, int bits, const std::string& rest) {
  return "  - autoround: {bits: " + std::to_string(bits) + ", group_size: 32" + rest +
         "}\n    label: " + label + "\n    calibration: text\n";
}

std::string nearest(const std::string& label, int bits) {
  return "  - rtn: {bits: " + std::to_string(bits) + ", group_size: 32}\n    label: " + label +
         "\n";
}

}  // namespace

TEST_CASE("autoround raises every family's loss less than rounding to nearest at 2 and 3 bits",
          "[regression][autoround]") {
  const auto records =
      run(kModels,
          nearest("rtn2", 2) + nearest("rtn3", 3) + tuned("tuned2", 2, ", iterations: 100") +
              tuned("tuned3", 3, ", iterations: 100"),
          64);
  for (const std::string& model : kModels) {
    const double float_loss = records.at(model + "/float").at("value");
    for (const std::string bits : {"2", "3"}) {
      const double plain = records.at(model + "/rtn" + bits).at("value");
      const nlohmann::json& record = records.at(model + "/tuned" + bits);
      const double own = record.at("value");
      CAPTURE(model, bits, float_loss, plain, own);
      CHECK(own - float_loss < plain - float_loss);
      std::map<double, int> linears;  // by the loss of their block
      for (const nlohmann::json& layer : record.at("details").at("layers")) {
        CHECK(layer.at("tuned_loss") <= layer.at("plain_loss"));
        CHECK(layer.at("tuned_loss") > 0);
        CHECK_FALSE(layer.contains("objective"));
        ++linears[layer.at("tuned_loss")];
      }
      CHECK(linears.size() > 1);
      for (const auto& [loss, count] : linears) {
        CHECK(count == linears.begin()->second);
      }
    }
  }
}

TEST_CASE("autoround without a step has the loss of rounding to nearest, to the bit",
          "[regression][autoround]") {
  const auto records = run({"llama", "gpt_neox-small"},
                           nearest("rtn", 3) + tuned("block", 3, ", iterations: 0") +
                               tuned("linear", 3, ", iterations: 0, objective: linear") +
                               tuned("own", 3, ", iterations: 1, target: quantized"),
                           4);
  for (const std::string model : {"llama", "gpt_neox-small"}) {
    for (const std::string label : {"block", "linear", "own"}) {
      CAPTURE(model, label);
      CHECK(records.at(model + "/" + label).at("value") == records.at(model + "/rtn").at("value"));
    }
  }
}

TEST_CASE("autoround's loss does not depend on threads, and does on the seed where it draws",
          "[regression][autoround]") {
  const std::string quantizers =
      tuned("draws", 3, ", iterations: 10, batch_tokens: 1") + tuned("all", 3, ", iterations: 10");
  const auto one = run({"llama"}, quantizers, 96, {"--threads", "1"});
  const auto two = run({"llama"}, quantizers, 96, {"--threads", "2"});
  const auto other = run({"llama"}, quantizers, 96, {"--threads", "2", "--set", "seed=7"});
  for (const std::string label : {"llama/draws", "llama/all"}) {
    CAPTURE(label);
    CHECK(one.at(label).at("value") == two.at(label).at("value"));
    CHECK((one.at(label).at("value") == other.at(label).at("value")) == (label == "llama/all"));
  }
}

}  // namespace quench::test::autoround
