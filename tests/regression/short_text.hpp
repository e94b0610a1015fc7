// Runs of trained fixture models of every family on a few thousand characters.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

// One of each layout; heads of 16.
inline const std::vector<std::string> kFixtureFamilies = {
    "apertus",   "gpt_neox-seq", "gpt_neox-small", "llama",  "olmo-clip",
    "olmo-tied", "olmo2",        "opensci",        "smollm3"};

// A few thousand characters that no fixture was trained on, in a file.
class ShortText {
 public:
  ShortText()
      : file_(folder_.write("text.txt", read_file(public_data("text/tinyshakespeare.txt"))
                                            .substr(ValidationText::kFrom, 6000))) {}
  std::string path() const { return file_.string(); }

  // Records by model and label, "llama/rtn"; that of the float model is "llama/float".
  // `quantizers` are entries of a manifest.
  std::map<std::string, nlohmann::json> run(const std::vector<std::string>& models,
                                            const std::string& quantizers,
                                            const std::string& dtype = "float32") const {
    std::string branches;
    for (const std::string& model : models) {
      branches += "    " + model + ": {model: " + fixture("models/" + model).string() + "}\n";
    }
    const TemporaryDir folder;
    const auto manifest = folder.write(
        "manifest.yaml",
        "dtype: " + dtype + "\ncheckpoints:\n  branches:\n" + branches +
            "calibration:\n  text: {corpus: text, sequences: 8, length: 64, packing: concat}\n" +
            "quantizers:\n" + quantizers + "metrics:\n  - validation_loss: {corpus: text, block: " +
            std::to_string(kBlock) + "}\ncorpora:\n  text: {text: {path: " + path() + "}}\n");
    const std::filesystem::path home = folder / "home";
    make_home(home);
    const Finished finished =
        run_quench({"run", manifest.string(), "--out", (folder / "results").string(), "--json",
                    "--plugin-path", test_plugins().string()},
                   {{"QUENCH_HOME", home.string()}});
    INFO(finished.err);
    REQUIRE((finished.code == 0 || finished.code == 1));  // 1: a cell failed
    std::map<std::string, nlohmann::json> out;
    for (const nlohmann::json& record : records_of(data_of(finished.out), "validation_loss")) {
      const nlohmann::json& quantizer = record.at("quantizer");
      out[record.at("checkpoint").at("branch").get<std::string>() + "/" +
          (quantizer.is_null() ? "float" : quantizer.at("label").get<std::string>())] = record;
    }
    return out;
  }

 private:
  static constexpr int kBlock = 64;
  TemporaryDir folder_;
  std::filesystem::path file_;
};

inline double loss_of(const nlohmann::json& record) {
  INFO(record.dump());
  REQUIRE(record.at("error").is_null());
  return record.at("value");
}

}  // namespace quench::test
