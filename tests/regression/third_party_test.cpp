// Plugins from a folder of their own: a model family and a quantizer in plain C, both the templates
// of the SDK. The expected numbers were computed in float64 from the formulas at the top of
// template_model.cpp and template_quantizer_c.c by a program that shares no code with this one.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/template_checkpoint.hpp"

namespace quench::test {

namespace {

constexpr double kFloatLoss = 11.027981400826192;
constexpr double kQuantizedLoss = 11.172205294467336;
constexpr double kRelativeErrors[] = {0.01910341120200868, 0.02859632494689624};

// "1\n2\n...400\n", 1492 bytes: 46 blocks of 32.
std::string numbers() {
  std::string text;
  for (int i = 1; i <= 400; ++i) {
    text += std::to_string(i) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("run: a family and a C quantizer from --plugin-path give records", "[regression]") {
  const TemporaryDir folder;
  write_template_checkpoint(folder / "model");
  const auto text = folder.write("numbers.txt", numbers());
  const nlohmann::json document = run_manifest(
      "name: third-party\n"
      "dtype: fp64\n"
      "checkpoints: {model: \"" +
          (folder / "model").string() +
          "\", tokenizer: bytes}\n"
          "calibration: {start: {corpus: numbers, sequences: 4, length: 64, packing: concat}}\n"
          "quantizers: [{template_quantizer_c: {bits: 3}, calibration: start}]\n"
          "metrics: [validation_loss: {corpus: numbers, block: 32}]\n"
          "corpora: {numbers: {text: {path: \"" +
          text.string() + "\"}}}\n",
      {"--plugin-path", template_plugins().string()});
  const auto losses = records_of(document, "validation_loss");
  REQUIRE(losses.size() == 2);
  CHECK(losses[0].at("environment").at("family") == "template_model");
  CHECK(losses[0].at("details").at("blocks") == 46);
  CHECK(relative(losses[0].at("value"), kFloatLoss) < 1e-12);
  CHECK(losses[1].at("quantizer").at("id") == "template_quantizer_c");
  CHECK(relative(losses[1].at("value"), kQuantizedLoss) < 1e-12);
  // The quantizer measures no error; the host's judge does, through the Gram extension, with a Gram
  // matrix of float32 products.
  const nlohmann::json& layers = losses[1].at("details").at("layers");
  REQUIRE(layers.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(layers[i].at("name") == "blocks." + std::to_string(i) + ".mix");
    CHECK(layers[i].at("bits_per_weight") == 4.0);  // 3 bits and a float32 scale for 32 columns
    CHECK(relative(layers[i].at("relative_error"), kRelativeErrors[i]) < 1e-5);
  }
  const auto errors = records_of(document, "quantization_error");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].at("value").get<double>() ==
        Approx(kQuantizedLoss / kFloatLoss - 1).epsilon(1e-10));
}

TEST_CASE("eval: a tokenizer from --plugin-path reads the file that is named", "[regression]") {
  const TemporaryDir folder;
  write_template_checkpoint(folder / "model");
  const auto text = folder.write("numbers.txt", numbers());
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    lines += std::to_string(i) + "\n";
  }
  const auto words = folder.write("numbers.words", lines);
  const auto measured = [&](const std::string& tokenizer) {
    return quench_json({"eval", (folder / "model").string(), "--tokenizer", tokenizer, "--metric",
                        "validation_loss:text=" + text.string() + ",block=32", "--plugin-path",
                        template_plugins().string()});
  };
  const auto losses = records_of(measured(words.string()), "validation_loss");
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].at("details").at("blocks") == 12);  // 400 words
  CHECK(losses[0].at("value") != records_of(measured("bytes"), "validation_loss")[0].at("value"));
}

TEST_CASE("eval: a quantizer without calibration has no relative error", "[regression]") {
  const TemporaryDir folder;
  write_template_checkpoint(folder / "model");
  const auto text = folder.write("numbers.txt", numbers());
  const nlohmann::json document = quench_json(
      {"eval", (folder / "model").string(), "--tokenizer", "bytes", "--metric",
       "validation_loss:text=" + text.string() + ",block=32", "--dtype", "float64", "--quantizer",
       "template_quantizer_c:bits=3", "--plugin-path", template_plugins().string()});
  const auto losses = records_of(document, "validation_loss");
  REQUIRE(losses.size() == 2);
  CHECK(relative(losses[1].at("value"), kQuantizedLoss) < 1e-12);
  CHECK_FALSE(losses[1].at("details").contains("calibration"));
  for (const nlohmann::json& layer : losses[1].at("details").at("layers")) {
    CHECK(layer.at("relative_error").is_null());
  }
}

}  // namespace quench::test
