// A checkpoint as training loops save it, whose config and tokenizer come from the manifest.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

using json = nlohmann::json;

namespace {

// The loss of the model that `checkpoints` names.
double loss_of(const TemporaryDir& folder, const std::string& checkpoints) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += static_cast<char>('a' + i * i % 26);
  }
  const json document =
      run_manifest("name: training\ncheckpoints: " + checkpoints +
                   "\nmetrics: [validation_loss: {corpus: validation, block: 32}]\n"
                   "corpora: {validation: {text: {path: \"" +
                   folder.write("text.txt", text).string() + "\"}}}\n");
  return records_of(document, "validation_loss").at(0).at("value").get<double>();
}

}  // namespace

TEST_CASE("run: a training checkpoint with a given config is the model that it holds",
          "[regression]") {
  const TemporaryDir folder;
  const auto data = source_dir() / "tests/data/training_checkpoint";
  const std::string plain = (data / "plain").string();
  const std::string trained = (data / "step10.pth").string();
  const double expected = loss_of(folder, "{model: \"" + plain + "\", tokenizer: bytes}");
  CHECK(expected > 1);
  CHECK(loss_of(folder, "{model: \"" + trained + "\", config: \"" + plain +
                            "/config.json\", tokenizer: bytes}") == expected);
  const json config = json::parse(read_file(data / "plain/config.json"));
  CHECK(loss_of(folder, "{model: \"" + trained + "\", family: llama, tokenizer: bytes, config: " +
                            config.dump() + "}") == expected);
}

TEST_CASE("eval: a checkpoint without a config says where one can be given", "[regression]") {
  const TemporaryDir folder;
  const auto trained = source_dir() / "tests/data/training_checkpoint/step10.pth";
  const auto text = folder.write("text.txt", "abc");
  const Finished finished =
      run_quench({"eval", trained.string(), "--tokenizer", "bytes", "--metric",
                  "validation_loss:text=" + text.string() + ",block=2"});
  CHECK(finished.code != 0);
  CHECK_THAT(finished.err,
             Catch::Contains("config.json: not there, or empty; a manifest can name one as"));
}

}  // namespace quench::test
