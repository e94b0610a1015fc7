// What a run refuses at no cost of a plugin that breaks its promises.
#include <catch2/catch.hpp>
#include <filesystem>
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
