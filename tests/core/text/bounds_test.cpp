// Inputs that have made other tokenizers take minutes.
#include <catch2/catch.hpp>
#include <chrono>

#include "core/error.hpp"
#include "tests/core/text/small_tokenizers.hpp"

namespace quench::text {

using test::Ids;

namespace {

// Far above what a slow machine with sanitizers needs, far below what quadratic time takes.
constexpr double kSecondsLimit = 60;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

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

TEST_CASE("bounds: long words take no quadratic time", "[core][text]") {
  const Tokenizer small = doubling();
  const Stopwatch watch;
  const Ids short_word = small.encode(std::string(100'000, 'a'), false);
  CHECK(short_word.size() == 100'000 / 64 + 1);  // 1562 times 64, and 32 more
  CHECK(short_word.back() == 256 + 4);
  CHECK(small.encode(std::string(10'000'000, 'a'), false).size() == 10'000'000 / 64);
  CHECK(small.encode(std::string(10'000'000, '-'), false).size() == 10'000'000);
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: a SentencePiece text without a space takes no quadratic time", "[core][text]") {
  const Tokenizer small = test::open(test::sentence_piece_file({"a a", "aa aa"}));
  const Stopwatch watch;
  CHECK(small.encode(std::string(2'000'000, 'a'), false).size() == 1 + 2'000'000 / 4);
  CHECK(small.encode(std::string(2'000'000, ' '), false).size() == 2'000'001);
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: a storm of combining marks takes no quadratic time", "[core][text]") {
  std::string storm = "a";
  for (int i = 0; i < 500'000; ++i) {
    storm += i % 2 == 0 ? "\u0301" : "\u0323";
  }
  const Tokenizer small = test::open(test::byte_level_file({}));
  const Stopwatch watch;
  const Ids ids = small.encode(storm, false);
  CHECK(watch.seconds() < kSecondsLimit);
  // "a" and the first dot below join (three bytes for one and two), all others stay.
  CHECK(ids.size() == storm.size());
  CHECK(Ids(ids.begin(), ids.begin() + 5) == Ids{0xE1, 0xBA, 0xA1, 0xCC, 0xA3});
}

TEST_CASE("bounds: a regular expression that backtracks without end is given up", "[core][text]") {
  const Tokenizer bomb = test::open(with_regex("(a+)+$"));
  const Stopwatch watch;
  CHECK_THROWS_WITH(
      bomb.encode("!" + std::string(5'000, 'a') + "!", false),
      Catch::Equals("small.json: pre_tokenizer.pretokenizers[0].pattern.Regex: gave up on the text "
                    "at byte 0: match limit exceeded"));
  CHECK(watch.seconds() < kSecondsLimit);
}

TEST_CASE("bounds: the patterns of Llama 3 and tekken take megabytes of one class",
          "[core][text]") {
  const Tokenizer llama = test::open(
      with_regex("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                 "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"));
  const Tokenizer tekken = test::open(with_regex(
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
      "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"));
  constexpr size_t size = 4'000'000;
  const Stopwatch watch;
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

TEST_CASE("bounds: runs of added tokens and of what they strip take linear time", "[core][text]") {
  auto file = test::byte_level_file({});
  for (int i = 0; i < 2; ++i) {
    file["added_tokens"].push_back(test::added_token(256 + i, std::string(1, i == 0 ? '\n' : ' ')));
    file["added_tokens"].back()["lstrip"] = true;
    file["added_tokens"].back()["rstrip"] = true;
  }
  const Tokenizer small = test::open(file);
  const Stopwatch watch;
  CHECK(small.encode(std::string(1'000'000, ' ') + "x", false) == Ids{257, 'x'});
  CHECK(watch.seconds() < kSecondsLimit);
}

}  // namespace quench::text
