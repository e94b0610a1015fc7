// Encodings that the reference implementation made, id by id.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/plugins/tokenizers/opened.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::tokenizers {

namespace {

using Path = std::filesystem::path;

// Every line of a golden file, with and without special tokens.
void check_golden(const Path& tokenizer_path, const Path& golden_path) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_path);
  std::ifstream in(golden_path);
  size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const auto golden = nlohmann::json::parse(line);
    const auto text = golden.at("text").get<std::string>();
    INFO(golden_path.string() << ":" << lines + 1 << ": " << golden.at("text").dump(-1, ' ', true));
    CHECK(tokenizer.encode(text, false) == golden.at("ids").get<std::vector<int32_t>>());
    CHECK(tokenizer.encode(text, true) == golden.at("ids_special").get<std::vector<int32_t>>());
  }
  CHECK(lines >= 200);
}

void check_fixture(const std::string& family) {
  check_golden(quench::test::fixture("tokenizers/" + family + "/tokenizer.json"),
               quench::test::fixture("tokenizers/" + family + "/golden.jsonl"));
}

void check_public(const std::string& name) {
  check_golden(quench::test::public_data("tokenizers/" + name + ".json"),
               quench::test::fixture("tokenizers/real/" + name + ".golden.jsonl"));
}

}  // namespace

TEST_CASE("tokenizer: a NeoX file encodes as the reference does", "[tokenizers]") {
  check_fixture("neox");
}

TEST_CASE("tokenizer: a Llama 3 file encodes as the reference does", "[tokenizers]") {
  check_fixture("llama3");
}

TEST_CASE("tokenizer: a tekken file encodes as the reference does", "[tokenizers]") {
  check_fixture("tekken");
}

TEST_CASE("tokenizer: a SentencePiece style file encodes as the reference does", "[tokenizers]") {
  check_fixture("spm");
}

TEST_CASE("tokenizer: GPT-NeoX-20B encodes as the reference does", "[tokenizers]") {
  check_public("gpt-neox-20b");
}

TEST_CASE("tokenizer: OLMo's NeoX variant encodes as the reference does", "[tokenizers]") {
  check_public("gpt-neox-olmo-dolma-v1_5");
}

TEST_CASE("tokenizer: dolma2 encodes as the reference does", "[tokenizers]") {
  check_public("dolma2");
}

TEST_CASE("tokenizer: converted Llama files encode as the reference does", "[tokenizers]") {
  const Path legacy =
      quench::test::fixture("tokenizers/real/llama.converted-legacy.tokenizer.json");
  check_golden(legacy,
               quench::test::fixture("tokenizers/real/llama.converted-legacy.golden.jsonl"));
  // The other conversion has the same vocabulary behind a Metaspace pre-tokenizer.
  const Path parts = quench::test::fixture("tokenizers/real/llama.converted-nonlegacy.parts.json");
  const Path golden =
      quench::test::fixture("tokenizers/real/llama.converted-nonlegacy.golden.jsonl");
  std::ifstream legacy_in(legacy);
  std::ifstream parts_in(parts);
  auto combined = nlohmann::json::parse(legacy_in);
  combined.update(nlohmann::json::parse(parts_in));
  const auto tokenizer = Tokenizer::from_json(combined.dump(), "combined");
  std::ifstream in(golden);
  for (std::string line; std::getline(in, line);) {
    const auto expected = nlohmann::json::parse(line);
    INFO(line);
    CHECK(tokenizer.encode(expected.at("text").get<std::string>(), true) ==
          expected.at("ids_special").get<std::vector<int32_t>>());
  }
}

}  // namespace quench::tokenizers
