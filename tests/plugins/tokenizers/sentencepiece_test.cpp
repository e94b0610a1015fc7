// Encodings of tokenizer.model files: those that SentencePiece made, and rules worked out by hand.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/plugins/tokenizers/model_bytes.hpp"
#include "tests/plugins/tokenizers/opened.hpp"
#include "tests/plugins/tokenizers/small_tokenizers.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::tokenizers {

using test::Ids;
using test::piece;

namespace {

using Path = std::filesystem::path;

enum class Special { ordinary, left_out };

// Compares every line, and with `key` "ids_special" the ids with special tokens. Texts in which a
// tokenizer.json finds <s> and its like are left out where asked. Returns the number of lines.
size_t checked_lines(const Path& model, const Path& golden, const std::string& key = "ids",
                     Special special = Special::ordinary) {
  const Tokenizer tokenizer = Tokenizer::from_file(model);
  std::ifstream in(golden);
  size_t lines = 0;
  for (std::string line; std::getline(in, line);) {
    const auto expected = nlohmann::json::parse(line);
    const auto text = expected.at("text").get<std::string>();
    const bool has_special = text.find("<s>") != std::string::npos ||
                             text.find("</s>") != std::string::npos ||
                             text.find("<unk>") != std::string::npos;
    if (has_special && special == Special::left_out) {
      continue;
    }
    INFO(golden.string() << ": " << expected.at("text").dump(-1, ' ', true));
    CHECK(tokenizer.encode(text, key == "ids_special") == expected.at(key).get<Ids>());
    ++lines;
  }
  return lines;
}

void check_own(const std::string& name) {
  const auto folder = quench::test::source_dir() / "tests/data/sentencepiece";
  CHECK(checked_lines(folder / (name + ".model"), folder / (name + ".golden.jsonl")) > 200);
}

Tokenizer open_model(const std::string& bytes) {
  return Tokenizer::from_sentencepiece(bytes, "small.model");
}

const std::string kUnknown = piece("<unk>", 0, 2);

}  // namespace

TEST_CASE("tokenizer.model: a unigram model with user-defined pieces encodes as SentencePiece does",
          "[tokenizers]") {
  check_own("unigram");
}

TEST_CASE("tokenizer.model: a unigram model with byte fallback encodes as SentencePiece does",
          "[tokenizers]") {
  check_own("unigram_bytes");
}

TEST_CASE("tokenizer.model: a BPE model with user-defined pieces encodes as SentencePiece does",
          "[tokenizers]") {
  check_own("bpe");
}

TEST_CASE("tokenizer.model: a BPE model with spaces behind words encodes as SentencePiece does",
          "[tokenizers]") {
  check_own("bpe_suffix");
}

TEST_CASE("tokenizer.model: a BPE model with byte fallback encodes as SentencePiece does",
          "[tokenizers]") {
  const Path model = quench::test::fixture("tokenizers/spmodel/tokenizer.model");
  const Path golden = quench::test::fixture("tokenizers/spmodel/golden_sentencepiece.jsonl");
  const size_t lines = checked_lines(model, golden);
  CHECK(lines > 200);
  CHECK(lines == checked_lines(model, golden, "ids_special"));
}

TEST_CASE("tokenizer.model: Llama's encodes as SentencePiece does", "[tokenizers]") {
  const Path model = quench::test::public_data("tokenizers/llama.model");
  const Path golden =
      quench::test::fixture("tokenizers/real/llama.model.sentencepiece.golden.jsonl");
  const size_t lines = checked_lines(model, golden);
  CHECK(lines > 200);
  CHECK(lines == checked_lines(model, golden, "ids_special"));
}

TEST_CASE("tokenizer.model: Llama's encodes as the tokenizer.json made of it", "[tokenizers]") {
  const Path model = quench::test::public_data("tokenizers/llama.model");
  for (const std::string name :
       {"llama.converted-legacy", "llama.model.LlamaTokenizer-legacy-true"}) {
    const Path golden = quench::test::fixture("tokenizers/real/" + name + ".golden.jsonl");
    const size_t lines = checked_lines(model, golden, "ids", Special::left_out);
    CHECK(lines == checked_lines(model, golden, "ids_special", Special::left_out));
    CHECK(lines > 250);
  }
}

TEST_CASE("tokenizer.model: the highest score merges first, the leftmost of equals",
          "[tokenizers]") {
  const std::string head = kUnknown + piece("a", -5) + piece("b", -5) + piece("c", -5);
  const std::string tail = test::trainer(test::kBpe) + test::plain_normalizer();
  const Tokenizer by_score = open_model(head + piece("ab", -2) + piece("bc", -1) + tail);
  CHECK(by_score.encode("abc", false) == Ids{1, 5});
  const Tokenizer equal = open_model(head + piece("ab", -1) + piece("bc", -1) + tail);
  CHECK(equal.encode("abc", false) == Ids{4, 3});
  CHECK(equal.encode("bcab", false) == Ids{5, 4});
  // A string that is a piece merges however it came about, also of characters that are none.
  const Tokenizer missing = open_model(head + piece("xa", -1) + piece("xab", -2) + tail);
  CHECK(missing.encode("xab", false) == Ids{5});
  CHECK(missing.encode("xb", false) == Ids{0, 2});
  CHECK(missing.vocabulary_size() == 6);
}

TEST_CASE("tokenizer.model: a run of unknown characters is one id", "[tokenizers]") {
  for (const int type : {test::kUnigram, test::kBpe}) {
    const Tokenizer tokenizer =
        open_model(kUnknown + piece("a", -1) + test::trainer(type) + test::plain_normalizer());
    CHECK(tokenizer.encode("axya\u00e9", false) == Ids{1, 0, 1, 0});
  }
}

TEST_CASE("tokenizer.model: an unused piece falls apart into what it was merged of",
          "[tokenizers]") {
  const std::string head = kUnknown + piece("a", -1) + piece("b", -1);
  const std::string tail = test::trainer(test::kBpe) + test::plain_normalizer();
  const Tokenizer tokenizer =
      open_model(head + piece("ab", -2, 5) + piece("abab", -3) + piece("abb", -4, 5) + tail);
  CHECK(tokenizer.encode("ab", false) == Ids{1, 2});
  CHECK(tokenizer.encode("abab", false) == Ids{4});
  CHECK(tokenizer.encode("abb", false) == Ids{1, 2, 2});
  const std::string two_ways =
      head + piece("c", -1) + piece("ab", -2) + piece("bc", -2) + piece("abc", -3, 5) + tail;
  CHECK_THROWS_WITH(open_model(two_ways),
                    "small.model: piece 6: \"abc\" is of type unused and can be merged in more "
                    "than one way, which is not supported");
}

TEST_CASE("tokenizer.model: the special token is the control piece that opens a text",
          "[tokenizers]") {
  const std::string pieces = kUnknown + piece("a", -1);
  const std::string plain = test::plain_normalizer();
  const auto ids = [&](const std::string& model) { return open_model(model).encode("a", true); };
  CHECK(ids(pieces + piece("<s>", 0, 3) + plain) == Ids{2, 1});
  CHECK(ids(pieces + piece("<go>", 0, 3) + plain) == Ids{1});
  CHECK(ids(pieces + piece("<go>", 0, 3) + test::trainer(1, test::bytes_field(46, "<go>")) +
            plain) == Ids{2, 1});
  CHECK(ids(pieces + piece("<s>", 0, 1) + plain) == Ids{1});  // no control piece
}

TEST_CASE("tokenizer.model: spaces are reduced and marked as the file says", "[tokenizers]") {
  const std::string pieces = kUnknown + piece("a", -1) + piece("\u2581", -1) + piece(" ", -1);
  const auto ids = [&](bool prefix, bool reduce, bool escape, const std::string& text) {
    return open_model(pieces + test::bytes_field(3, test::number_field(3, prefix ? 1 : 0) +
                                                        test::number_field(4, reduce ? 1 : 0) +
                                                        test::number_field(5, escape ? 1 : 0)))
        .encode(text, false);
  };
  CHECK(ids(true, true, true, "  a  a ") == Ids{2, 1, 2, 1});
  CHECK(ids(false, true, true, "  a  a ") == Ids{1, 2, 1});
  CHECK(ids(true, false, true, " a ") == Ids{2, 2, 1, 2});
  CHECK(ids(false, false, false, " a ") == Ids{3, 1, 3});
  CHECK(ids(true, true, true, "   ") == Ids{});
  CHECK(ids(true, true, true, "a\u2581") == Ids{2, 1});  // marks of the text go with the spaces
}

}  // namespace quench::tokenizers
