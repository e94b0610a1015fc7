#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/plugins/tokenizers/json_entry.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/pre_tokenizer.hpp"

namespace quench::tokenizers {

namespace {

using Words = std::vector<std::string>;

Words words(const std::string& pre_tokenizer, std::string_view text, bool at_start = true) {
  const test::Json json(pre_tokenizer);
  Pieces pieces;
  pieces.list.push_back({text, at_start ? size_t{1} : 0});
  make_pre_tokenizer(json.entry())->split(pieces);
  Words out;
  for (const Piece& piece : pieces.list) {
    out.emplace_back(piece.text);
  }
  return out;
}

Words byte_level(std::string_view text) {
  return words(R"({"type": "ByteLevel", "add_prefix_space": false})", text);
}

Words split(const std::string& behavior, bool invert, std::string_view text) {
  return words(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior +
                   R"(", "invert": )" + (invert ? "true}" : "false}"),
               text);
}

}  // namespace

TEST_CASE("byte_level: GPT-2's pattern cuts words, numbers, marks and spaces", "[tokenizers]") {
  CHECK(byte_level("Hello world") == Words{"Hello", " world"});
  CHECK(byte_level("I'll don't you've 'S") ==
        Words{"I", "'ll", " don", "'t", " you", "'ve", " '", "S"});
  CHECK(byte_level("'stab 're'x'") == Words{"'s", "tab", " '", "re", "'", "x", "'"});
  CHECK(byte_level("a1b 22!?") == Words{"a", "1", "b", " 22", "!?"});
  CHECK(byte_level("\u00e9t\u00e9 \u4e2d\u6587\u0663") ==
        Words{"\u00e9t\u00e9", " \u4e2d\u6587", "\u0663"});
  // A combining mark is neither letter nor number.
  CHECK(byte_level("e\u0301a") == Words{"e", "\u0301", "a"});
}

TEST_CASE("byte_level: of several spaces the last goes to the next word", "[tokenizers]") {
  CHECK(byte_level("a   b") == Words{"a", "  ", " b"});
  CHECK(byte_level("a\n\nb") == Words{"a", "\n", "\n", "b"});
  CHECK(byte_level("a \n") == Words{"a", " \n"});
  CHECK(byte_level("  ") == Words{"  "});
  CHECK(byte_level(" \u3000b") == Words{" ", "\u3000", "b"});
  // U+0085 is white space, U+180E is not.
  CHECK(byte_level("a \u0085") == Words{"a", " \u0085"});
  CHECK(byte_level("a \u180e") == Words{"a", " \u180e"});
}

TEST_CASE("byte_level: a prefix space is added where there is none", "[tokenizers]") {
  const std::string json = R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": )";
  CHECK(words(json + "true}", "a b") == Words{" a", " b"});
  CHECK(words(json + "false}", "a b") == Words{" a b"});
  CHECK(words(json + "false}", " a") == Words{" a"});
}

TEST_CASE("split: each behaviour treats delimiters its way", "[tokenizers]") {
  const std::string_view text = "the-final--countdown";
  CHECK(split("Removed", false, text) == Words{"the", "final", "countdown"});
  CHECK(split("Isolated", false, text) == Words{"the", "-", "final", "-", "-", "countdown"});
  CHECK(split("MergedWithPrevious", false, text) == Words{"the-", "final-", "-", "countdown"});
  CHECK(split("MergedWithNext", false, text) == Words{"the", "-final", "-", "-countdown"});
  CHECK(split("Contiguous", false, text) == Words{"the", "-", "final", "--", "countdown"});
  CHECK(split("Removed", true, text) == Words{"-", "-", "-"});
  CHECK(split("Isolated", true, text) == Words{"the", "-", "final", "-", "-", "countdown"});
  CHECK(split("MergedWithNext", true, "a-b-") == Words{"a-", "b-"});
}

TEST_CASE("split: regular expressions read as Oniguruma reads them", "[tokenizers]") {
  const auto isolate = [](const std::string& regex, std::string_view text) {
    const nlohmann::json json = {{"type", "Split"},
                                 {"pattern", {{"Regex", regex}}},
                                 {"behavior", "Isolated"},
                                 {"invert", false}};
    return words(json.dump(), text);
  };
  CHECK(isolate("\\p{N}{1,3}", "12345a") == Words{"123", "45", "a"});
  CHECK(isolate("\\s+(?!\\S)|\\s+", "a   b") == Words{"a", "  ", " ", "b"});
  CHECK(isolate("(?i:'s|'t)", "a'Sb") == Words{"a", "'S", "b"});
  CHECK(isolate("[^\\s\\p{L}]", "a!b") == Words{"a", "!", "b"});
  CHECK(isolate("\\s", "a\u180eb\u0085") == Words{"a\u180eb", "\u0085"});
  CHECK(isolate("\\p{Greek}", "a\u03b1") == Words{"a", "\u03b1"});
  CHECK(isolate("[\\u4e00-\\u9fff]+", "a\u4e2d\u6587b") == Words{"a", "\u4e2d\u6587", "b"});
  CHECK(isolate("^b", "a\nb") == Words{"a\n", "b"});
  // Empty matches cut and leave nothing behind.
  CHECK(isolate("b*", "abba") == Words{"a", "bb", "a"});
}

TEST_CASE("digits: come whole or one by one", "[tokenizers]") {
  CHECK(words(R"({"type": "Digits", "individual_digits": true})", "a12b") ==
        Words{"a", "1", "2", "b"});
  CHECK(words(R"({"type": "Digits", "individual_digits": false})", "a12b") ==
        Words{"a", "12", "b"});
}

TEST_CASE("metaspace: marks spaces and begins the text with a mark", "[tokenizers]") {
  const auto metaspace = [](const std::string& scheme, bool split_marks, std::string_view text,
                            bool at_start) {
    const nlohmann::json json = {{"type", "Metaspace"},
                                 {"replacement", "\u2581"},
                                 {"prepend_scheme", scheme},
                                 {"split", split_marks}};
    return words(json.dump(), text, at_start);
  };
  CHECK(metaspace("always", true, "a  b", false) == Words{"\u2581a", "\u2581", "\u2581b"});
  CHECK(metaspace("first", false, "a b", true) == Words{"\u2581a\u2581b"});
  CHECK(metaspace("first", false, "a b", false) == Words{"a\u2581b"});
  CHECK(metaspace("never", false, "a", true) == Words{"a"});
  CHECK(metaspace("always", false, " a", true) == Words{"\u2581a"});
}

TEST_CASE("sequence: each pre-tokenizer cuts what the one before left", "[tokenizers]") {
  CHECK(words(R"({"type": "Sequence", "pretokenizers": [
                   {"type": "Digits", "individual_digits": true},
                   {"type": "ByteLevel", "add_prefix_space": false}]})",
              "ab 12 c") == Words{"ab", " ", "1", "2", " c"});
}

}  // namespace quench::tokenizers
