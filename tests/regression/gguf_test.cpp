// A GGUF file measures what the weights that it was made of measure.
#include <catch2/catch.hpp>
#include <fstream>

#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "tests/regression/gguf_twins.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

using json = nlohmann::json;

double loss_of(const fs::path& model, const std::string& metric,
               const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"eval", model.string(), "--metric", metric};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return quench_json(arguments).at("records").at(0).at("value");
}

}  // namespace

TEST_CASE("eval: a GGUF file of the reference's writer has the loss of its weights",
          "[regression][gguf]") {
  const fs::path data = source_dir() / "tests/data/gguf";
  const TemporaryDir folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += static_cast<char>('a' + i * i % 26);
  }
  const std::string metric =
      "validation_loss:text=" + folder.write("text.txt", text).string() + ",block=50";
  folder.write("model/config.json", read_file(data / "llama.json"));
  folder.write("model/model.safetensors", read_file(data / "llama.safetensors"));
  const std::vector<std::string> bytes = {"--tokenizer", "bytes"};
  const double loss = loss_of(folder / "model", metric, bytes);
  CHECK(loss > 0);
  CHECK(loss_of(data / "llama.gguf", metric, bytes) == loss);
}

TEST_CASE("eval: an F16 GGUF file of each family has the loss of its float16 weights",
          "[regression][gguf]") {
  const std::string name =
      GENERATE("llama", "olmo-clip", "olmo-tied", "olmo2", "smollm3", "apertus");
  CAPTURE(name);
  const fs::path original = fixture("models/" + name);
  const auto text = ValidationText::make();
  json config = read_json(original / "config.json");
  if (name == "apertus") {
    config["rope_scaling"] = nullptr;  // GGUF has no scaling from 128 positions
  }
  const TemporaryDir folder;
  const auto weights = open_checkpoint_folder(built_catalog(), original).source;
  const std::string tokenizer = read_file(original / "tokenizer.json");
  folder.write("gguf/tokenizer.json", tokenizer);
  folder.write("gguf/model.gguf", gguf_of(*weights, config));
  folder.write("folder/tokenizer.json", tokenizer);
  write_float16_folder(*weights, config, folder / "folder");

  const double loss = loss_of(folder / "folder", text.metric());
  CHECK(loss_of(folder / "gguf", text.metric()) == loss);
  CHECK(loss_of(folder / "gguf" / "model.gguf", text.metric()) == loss);
  if (name != "apertus") {
    constexpr double kFloat16 = 1e-3;  // what rounding of weights does to a loss
    CHECK(relative(loss, loss_of(original, text.metric())) < kFloat16);
  }
}

}  // namespace quench::test
