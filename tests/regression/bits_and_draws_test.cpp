// What must hold whatever the family: fewer bits cost more, and GPTQ costs no more than rounding,
// in paired contrasts over five calibration draws.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/regression/program.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

constexpr int kDraws = 5;
constexpr double kStudent = 2.776;  // t of 95 % and four degrees of freedom

std::string manifest(const std::filesystem::path& model, const std::filesystem::path& calibration,
                     const std::filesystem::path& validation) {
  return "checkpoints: {model: " + model.string() + "}\n" +
         "calibration:\n  text: {corpus: c, sequences: 16, length: 64, packing: concat}\n" +
         "quantizers:\n" +
         "  - gptq: {bits: [3, 4, 8], group_size: 32, inputs: float}\n    calibration: text\n" +
         "    replicates: {draws: " + std::to_string(kDraws) + "}\n" +
         "  - rtn: {bits: [3, 4, 8], group_size: 32}\n" +
         "metrics:\n  - validation_loss: {corpus: v, block: 64}\n" +
         "corpora:\n  c: {text: {path: " + calibration.string() + "}}\n" +
         "  v: {text: {path: " + validation.string() + "}}\n";
}

struct Losses {
  std::map<int, std::vector<double>> gptq;  // by bits, a value a draw
  std::map<int, double> rtn;
};

Losses losses_of(const nlohmann::json& document) {
  Losses out;
  for (const nlohmann::json& record : records_of(document, "validation_loss")) {
    const nlohmann::json& quantizer = record.at("quantizer");
    if (quantizer.is_null()) {
      continue;
    }
    INFO(record.at("error").dump());
    REQUIRE(record.at("error").is_null());
    const int bits = quantizer.at("params").at("bits");
    if (quantizer.at("id") == "gptq") {
      out.gptq[bits].push_back(record.at("value"));
    } else {
      out.rtn[bits] = record.at("value");
    }
  }
  return out;
}

// Upper end of the 95 % interval of the mean of a - b.
double upper_end(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] - b[i];
  }
  const auto count = static_cast<double>(a.size());
  const double mean = sum / count;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(a[i] - b[i] - mean, 2);
  }
  return mean + kStudent * std::sqrt(squares / (count - 1) / count);
}

}  // namespace

TEST_CASE("bits and draws: fewer bits cost more, and gptq no more than rounding, in every family",
          "[regression][quantizers]") {
  const auto text = public_data("text/tinyshakespeare.txt");
  const auto models = fixture("models");
  if (!text || !models) {
    return;
  }
  const TemporaryDir folder;
  const std::string whole = read_file(*text);
  const auto calibration = folder.write("calibration.txt", whole.substr(0, 60000));
  const auto validation = folder.write("validation.txt", whole.substr(1003854, 12000));
  for (const char* name : {"apertus", "gpt_neox-seq", "gpt_neox-small", "llama", "olmo-clip",
                           "olmo-tied", "olmo2", "opensci", "smollm3"}) {
    INFO(name);
    const Losses losses =
        losses_of(run_manifest(manifest(*models / name, calibration, validation)));
    for (const int bits : {3, 4, 8}) {
      REQUIRE(losses.gptq.at(bits).size() == kDraws);
    }
    CHECK(losses.rtn.at(3) > losses.rtn.at(4));
    CHECK(losses.rtn.at(4) > losses.rtn.at(8));
    CHECK(upper_end(losses.gptq.at(4), losses.gptq.at(3)) < 0);
    CHECK(upper_end(losses.gptq.at(8), losses.gptq.at(4)) < 0);
    for (const int bits : {3, 4}) {
      INFO(bits);
      CHECK(upper_end(losses.gptq.at(bits), std::vector<double>(kDraws, losses.rtn.at(bits))) <= 0);
    }
  }
}

}  // namespace quench::test
