// Inputs that have made other tokenizers take minutes.
#include <catch2/catch.hpp>

#include "tests/plugins/tokenizers/small_tokenizers.hpp"
#include "tests/support/bounded.hpp"
#include "tests/support/processor_time.hpp"
#include "tests/support/throws.hpp"

namespace quench::tokenizers {

using test::Ids;

namespace {

// Far above what a slow machine with sanitizers needs, far below what quadratic time takes.
constexpr double kSecondsLimit = 60;

nlohmann::json with_regex(const std::string& regex) {
  auto file = test::byte_level_file({"a a"});
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = nlohmann::json::parse(R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": ""}, "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})");
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = regex;
  return file;
}

// Doubles from "a" to 64 of them.
Tokenizer doubling() {
  std::vector<std::string> merges;
  for (size_t size = 1; size < 64; size *= 2) {
    merges.push_back(std::string(size, 'a') + " " + std::string(size, 'a'));
  }
  return test::open(test::byte_level_file(merges));
}

}  // namespace

TEST_CASE("bounds: long words take no quadratic time", "[tokenizers]") {
  const Tokenizer small = doubling();
  const quench::test::ProcessorTime watch;
  const Ids short_word = small.encode(std::string(100'000, 'a'), false);
  CHECK(short_word.size() == 100'000 / 64 + 1);  // 1562 times 64, and 32 more
  CHECK(short_word.back() == 256 + 4);
  CHECK(small.encode(std::string(10'000'000, 'a'), false).size() == 10'000'000 / 64);
  CHECK(small.encode(std::string(10'000'000, '-'), false).size() == 10'000'000);
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: a SentencePiece text without a space takes no quadratic time", "[tokenizers]") {
  const Tokenizer small = test::open(test::sentence_piece_file({"a a", "aa aa"}));
  const quench::test::ProcessorTime watch;
  CHECK(small.encode(std::string(2'000'000, 'a'), false).size() == 1 + 2'000'000 / 4);
  CHECK(small.encode(std::string(2'000'000, ' '), false).size() == 2'000'001);
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: a storm of combining marks takes no quadratic time", "[tokenizers]") {
  std::string storm = "a";
  for (int i = 0; i < 500'000; ++i) {
    storm += i % 2 == 0 ? "\u0301" : "\u0323";
  }
  const Tokenizer small = test::open(test::byte_level_file({}));
  const quench::test::ProcessorTime watch;
  const Ids ids = small.encode(storm, false);
  CHECK(watch.seconds() < kSecondsLimit);
  // "a" and the first dot below join (three bytes for one and two), all others stay.
  CHECK(ids.size() == storm.size());
  CHECK(Ids(ids.begin(), ids.begin() + 5) == Ids{0xE1, 0xBA, 0xA1, 0xCC, 0xA3});
}

TEST_CASE("bounds: a regular expression that backtracks without end is given up", "[tokenizers]") {
  const Tokenizer bomb = test::open(with_regex("(a+)+$"));
  const quench::test::ProcessorTime watch;
  CHECK_THROWS_WITH(
      bomb.encode("!" + std::string(5'000, 'a') + "!", false),
      Catch::Equals("small.json: pre_tokenizer.pretokenizers[0].pattern.Regex: gave up on the text "
                    "at byte 0: match limit exceeded"));
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: the patterns of Llama 3 and tekken take megabytes of one class",
          "[tokenizers]") {
  const Tokenizer llama = test::open(
      with_regex("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                 "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"));
  const Tokenizer tekken = test::open(with_regex(
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
      "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"));
  constexpr size_t size = 4'000'000;
  const quench::test::ProcessorTime watch;
  for (const Tokenizer& tokenizer : {llama, tekken}) {
    CHECK(tokenizer.encode(std::string(size, 'a'), false).size() == size / 2);
    for (const char c : {'A', ' ', '\n', '-', '1'}) {
      INFO(static_cast<int>(c));
      CHECK(tokenizer.encode(std::string(size, c), false).size() == size);
      CHECK(tokenizer.encode(std::string(size, c) + "x", false).size() == size + 1);
    }
  }
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: runs of added tokens and of what they strip take linear time", "[tokenizers]") {
  auto file = test::byte_level_file({});
  for (int i = 0; i < 2; ++i) {
    file["added_tokens"].push_back(test::added_token(256 + i, std::string(1, i == 0 ? '\n' : ' ')));
    file["added_tokens"].back()["lstrip"] = true;
    file["added_tokens"].back()["rstrip"] = true;
  }
  const Tokenizer small = test::open(file);
  const quench::test::ProcessorTime watch;
  CHECK(small.encode(std::string(1'000'000, ' ') + "x", false) == Ids{257, 'x'});
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: a chain of replacements cannot double a text for ever", "[tokenizers]") {
  auto file = test::byte_level_file({});
  const nlohmann::json twice = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", nlohmann::json::array()}};
  for (int i = 0; i < 60; ++i) {
    file["normalizer"]["normalizers"].push_back(twice);
  }
  const Tokenizer bomb = test::open(file);
  CHECK(quench::test::message_within(200, [&] { bomb.encode(std::string(10, 'a'), false); }) ==
        "text: at least 578 bytes once it is rewritten, wanted at most 576");
  CHECK(quench::test::message_within(200, [&] { bomb.encode(std::string(1 << 18, 'a'), false); }) ==
        "text: at least 8388866 bytes once it is rewritten, wanted at most 8388864");
}

TEST_CASE("bounds: a chain of Metaspaces cannot put marks before every character for ever",
          "[tokenizers]") {
  auto file = test::byte_level_file({});
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", nlohmann::json::array()}};
  nlohmann::json& parts = file["pre_tokenizer"]["pretokenizers"];
  parts.push_back({{"type", "Split"},
                   {"pattern", {{"String", "a"}}},
                   {"behavior", "Isolated"},
                   {"invert", false}});
  for (int i = 0; i < 200; ++i) {
    parts.push_back({{"type", "Metaspace"},
                     {"replacement", std::string(1, static_cast<char>('A' + i % 2))},
                     {"prepend_scheme", "always"},
                     {"split", false}});
  }
  parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  const Tokenizer bomb = test::open(file);
  CHECK_THAT(
      quench::test::message_within(200, [&] { bomb.encode(std::string(100'000, 'a'), false); }),
      Catch::EndsWith("once it is rewritten, wanted at most 3200256"));
}

TEST_CASE("bounds: a regular expression that is slow at each character is given up",
          "[tokenizers]") {
  // Each search takes some thousands of steps for one character.
  const Tokenizer bomb = test::open(with_regex("a(?=(a|aa)*$)|a"));
  for (const size_t size : {3'000, 5'000, 50'000}) {
    CAPTURE(size);
    CHECK_THAT(
        quench::test::message_within(200,
                                     [&] { bomb.encode(std::string(size, 'a') + "!", false); }),
        Catch::StartsWith("small.json: pre_tokenizer.pretokenizers[0].pattern.Regex: gave up "
                          "on the text at byte "));
  }
}

TEST_CASE("bounds: a template of more special tokens than anyone writes is refused",
          "[tokenizers]") {
  auto file = test::byte_level_file({});
  nlohmann::json special = {{"id", "x"}, {"ids", nlohmann::json::array()}};
  for (int i = 0; i < 1000; ++i) {
    special["ids"].push_back(1);
  }
  file["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
                            {"special_tokens", {{"x", special}}}};
  for (int i = 0; i < 1000; ++i) {
    file["post_processor"]["single"].push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
  }
  CHECK(quench::test::message_within(100, [&] { throw std::runtime_error(test::refusal(file)); }) ==
        "tokenizer.json: post_processor.single: 2000 ids or more, wanted at most 1024");
}

}  // namespace quench::tokenizers
