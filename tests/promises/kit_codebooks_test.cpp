// Quantizers whose weights are looked up: their promises, and the way into a file and back.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/answer.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;

namespace quench::test {

TEST_CASE("plugins check: quantizers of powers of two and of a table a row keep every promise",
          "[promises]") {
  const TemporaryDir home;
  const Ended checked = run_program(
      {QUENCH_PROGRAM, "plugins", "check", std::string(KIT_FOLDER) + "/kit_codebooks.so"},
      {{"QUENCH_HOME", (home.path() / "q").string()}}, home.path());
  INFO(checked.out + checked.err);
  CHECK(checked.code == 0);
  for (const char* id : {"kit_mx", "kit_rows"}) {
    CHECK_THAT(checked.out, Contains("ok      quantizer " + std::string(id) +
                                     ": the weight is what indices, table and scales say"));
  }
  CHECK_THAT(checked.out,
             Contains("ok      format kit_mxfp4: tables of values are read back bit for bit, too"));
}

namespace {

// A checkpoint and a text, and the program on them.
struct Scene {
  explicit Scene(int64_t width = 32) {
    write_template_checkpoint(folder.path() / "model", width);
    std::string text;
    for (int i = 0; i < 400; ++i) {
      text += "some words of text ";
    }
    folder.write("text.txt", text);
  }
  Ended run(std::vector<std::string> words) const {
    words.insert(words.begin(), QUENCH_PROGRAM);
    words.insert(words.end(),
                 {"--plugin-path", KIT_FOLDER, "--plugin-path", TEMPLATE_FOLDER, "--tokenizer",
                  "bytes", "--metric", "validation_loss:text=text.txt,block=64", "--json"});
    return run_program(words, {{"QUENCH_HOME", (folder.path() / "q").string()}}, folder.path());
  }
  nlohmann::json answer(const std::vector<std::string>& words) const {
    const Ended ended = run(words);
    INFO(ended.out + ended.err);
    REQUIRE(ended.code == 0);
    return data_of(ended.out);
  }

  TemporaryDir folder;
};

}  // namespace

TEST_CASE("quantize: what is looked up is stored, counted and read back with the same loss",
          "[promises]") {
  const Scene scene;
  // 32 x 32 weights: a byte for 32 of them and sixteen float32; 17 float32 for each row.
  const auto [id, format, bits] = GENERATE(table<std::string, std::string, double>(
      {{"kit_mx", "template_format", 4 + 8.0 / 32 + 16 * 32.0 / 1024},
       {"kit_mx", "kit_mxfp4", 4 + 8.0 / 32 + 16 * 32.0 / 1024},
       {"kit_rows", "template_format", 4 + 17 * 32.0 / 32}}));
  CAPTURE(id, format);
  const nlohmann::json made =
      scene.answer({"quantize", "model", "--quantizer", id, "--format", format, "-o", id});
  CHECK(made.at("bits_per_weight") == bits);
  CHECK(made.at("metrics").at(0).at("quantized") != made.at("metrics").at(0).at("float"));
  CHECK(scene.answer({"eval", id}).at("records").at(0).at("value") ==
        made.at("metrics").at(0).at("quantized"));
}

TEST_CASE("quantize: what a format cannot hold of a table is refused before work, or by name",
          "[promises]") {
  const auto refusal = [](const Scene& scene, const std::string& id, const std::string& format) {
    const Ended ended =
        scene.run({"quantize", "model", "--quantizer", id, "--format", format, "-o", "made"});
    CHECK(ended.code != 0);
    CHECK_FALSE(std::filesystem::exists(scene.folder.path() / "made"));
    return ended.out + ended.err;
  };
  const Scene odd(48);
  CHECK_THAT(refusal(odd, "kit_mx", "kit_mxfp4"),
             Contains("blocks.0.mix: 48 columns; kit_mxfp4 holds multiples of 32"));
  const Scene scene;
  CHECK_THAT(refusal(scene, "kit_rows", "kit_mxfp4"),
             Contains("blocks.0.mix: kit_mxfp4 holds E2M1 in blocks of 32"));
  CHECK_THAT(refusal(scene, "kit_rows", "gptq"),
             Contains("blocks.0.mix: a table of values; the format holds integer grids"));
}

}  // namespace quench::test
