// What a run refuses at no cost of a plugin that breaks its promises.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/subprocess.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;

namespace quench::test {

namespace {

struct Run {
  TemporaryDir folder;

  Run() {
    std::filesystem::create_directory(folder.path() / "model");
    write_template_checkpoint(folder.path() / "model");
    std::string text;
    for (int i = 0; i < 400; ++i) {
      text += "some words of text ";
    }
    folder.write("text.txt", text);
  }

  Ended with(const std::string& fault, const std::vector<std::string>& words) {
    std::vector<std::string> command = {QUENCH_PROGRAM};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(),
                   {"--plugin-path", BROKEN_FOLDER, "--plugin-path", TEMPLATE_FOLDER});
    return run_program(command,
                       {{"QUENCH_HOME", (folder.path() / "q").string()}, {"QUENCH_BROKEN", fault}},
                       folder.path());
  }
};

}  // namespace

TEST_CASE("eval: a quantizer whose result cannot be fails with what is wrong", "[promises]") {
  Run run;
  const auto eval = [&](const std::string& fault) {
    const Ended ended =
        run.with(fault, {"eval", "model", "--tokenizer", "bytes", "--quantizer", "broken",
                         "--metric", "validation_loss:text=text.txt,block=64"});
    return std::to_string(ended.code) + " " + ended.out + ended.err;
  };
  CHECK_THAT(eval("nothing"), Catch::StartsWith("0 "));
  CHECK_THAT(eval("untouched"), Contains("dequantized element [0, 0] is not written"));
  CHECK_THAT(eval("half_written"), Contains("dequantized element [1, 0] is not written"));
  CHECK_THAT(eval("bits_nan"), Contains("bits_per_weight is nan, wanted 0..64"));
  CHECK_THAT(eval("bits_huge"), Contains("bits_per_weight is 1000000000, wanted 0..64"));
  CHECK_THAT(eval("needs_unknown"), Contains("needs bits 0x40000000"));
}

TEST_CASE("eval and run: a tokenizer that is named reads its file, whatever others say of it",
          "[promises]") {
  Run run;
  run.folder.write("words.txt", "?\nsome\nwords\nof\ntext\n");
  const auto eval = [&](const std::string& tokenizer) {
    const Ended ended = run.with("nothing", {"eval", "model", "--tokenizer", tokenizer, "--metric",
                                             "validation_loss:text=text.txt,block=64"});
    return std::to_string(ended.code) + " " + ended.out + ended.err;
  };
  CHECK_THAT(eval("template_tokenizer:words.txt"), Catch::StartsWith("0 "));
  CHECK_THAT(eval("words.txt"), Contains("no tokenizer reads this file"));
  CHECK_THAT(
      eval("template_tokeniser:words.txt"),
      Contains("no tokenizer is called template_tokeniser; did you mean template_tokenizer?"));
  const auto manifest = [&](const std::string& tokenizer) {
    run.folder.write("m.yaml", "checkpoints: {model: model, tokenizer: " + tokenizer +
                                   "}\ncorpora: {t: {text: {path: text.txt}}}\n"
                                   "metrics: [validation_loss: {corpus: t, block: 64}]\n");
    const Ended ended = run.with("nothing", {"run", "m.yaml", "--out", "out"});
    return std::to_string(ended.code) + " " + ended.out + ended.err;
  };
  CHECK_THAT(manifest("{template_tokenizer: words.txt}"), Catch::StartsWith("0 "));
  CHECK_THAT(manifest("{template_tokenizer: words.txt, other: words.txt}"),
             Contains("`tokenizer`: got a mapping, wanted a file, or one plugin and its file"));
}

TEST_CASE("run: a plugin that ends its process in create fails its own cells alone", "[promises]") {
  Run run;
  run.folder.write("m.yaml",
                   "checkpoints: {model: model, tokenizer: bytes}\n"
                   "corpora: {t: {text: {path: text.txt}}}\n"
                   "calibration: {few: {corpus: t, sequences: 2, length: 32}}\n"
                   "quantizers:\n"
                   "  - broken: {}\n"
                   "    calibration: few\n"
                   "  - template_quantizer: {bits: [3, 4]}\n"
                   "metrics: [validation_loss: {corpus: t, block: 64}]\n");
  const Ended planned = run.with("create_segv", {"plan", "m.yaml", "--out", "out"});
  INFO(planned.err);
  CHECK(planned.code == 0);
  const Ended ended = run.with("create_segv", {"run", "m.yaml", "--out", "out", "--json"});
  INFO(ended.err);
  CHECK(ended.code == 1);
  size_t measured = 0;
  const nlohmann::json answer = nlohmann::json::parse(ended.out);
  for (const nlohmann::json& record : answer.at("data").at("records")) {
    const bool is_broken =
        !record.at("quantizer").is_null() && record.at("quantizer").at("id") == "broken";
    measured += record.at("error").is_null() ? 1 : 0;
    CHECK(record.at("error").is_null() == !is_broken);
    if (is_broken) {
      CHECK_THAT(record.at("error").dump(),
                 Contains("its process, in create, was ended by signal 11"));
    }
  }
  CHECK(measured >= 3);
}

TEST_CASE("quantize: a format that reads something else than it promised leaves no folder",
          "[promises]") {
  Run run;
  const auto quantize = [&](const std::string& fault, const char* out) {
    return run.with(fault, {"quantize", "model", "--tokenizer", "bytes", "--quantizer",
                            "rtn:bits=4", "--format", "template_format", "-o", out});
  };
  const Ended sound = quantize("nothing", "sound");
  INFO(sound.err);
  CHECK(sound.code == 0);
  const Ended broken = quantize("promised", "broken");
  CHECK(broken.code == 1);
  CHECK_THAT(broken.err, Contains("format template_format: ") &&
                             Contains("reading what it wrote gives another weight"));
  CHECK_FALSE(std::filesystem::exists(run.folder.path() / "broken"));
}

}  // namespace quench::test
