#include "cli/tokenize_lines.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <sstream>

#include "core/error.hpp"
#include "tests/cli/program.hpp"

using quench::test::Outcome;
using quench::test::Workplace;

namespace quench {

namespace {

std::string tokenized(Tokenizer tokenizer, const std::string& lines, bool special = false) {
  std::istringstream in(lines);
  std::ostringstream out;
  CHECK(tokenize(tokenizer, in, out, special) == 0);
  return out.str();
}

// Gives up on a text with many letters a that ends with b.
const char kBacktracking[] =
    R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated",
                          "invert": false}})";

}  // namespace

TEST_CASE("tokenize: one array for each line", "[cli]") {
  CHECK(tokenized(Tokenizer::bytes(), "\"ab\"\n\"\"\n\"\\u00e9\\n\"") ==
        "[97,98]\n[]\n[195,169,10]\n");
  CHECK(tokenized(Tokenizer::bytes(), "\"a\"\r\n") == "[97]\n");
  CHECK(tokenized(Tokenizer::bytes(), "") == "");
}

TEST_CASE("tokenize: a bad line is named, and those before it are done", "[cli]") {
  const std::pair<const char*, const char*> bad[] = {
      {"7", "line 2: got number, wanted a JSON string"},
      {"[\"a\"]", "line 2: got array, wanted a JSON string"},
      {"", "line 2: not a JSON string: "},
      {"abc", "line 2: not a JSON string: abc"},
      {"\"a\" \"b\"", "line 2: not a JSON string: \"a\" \"b\""},
      {"\"\\ud800\"", "line 2: not a JSON string: \"\\ud800\""},
      {"\"\xFF\"", "line 2: not a JSON string: \"\\xff\""},
  };
  for (const auto& [line, message] : bad) {
    std::istringstream in(std::string("\"a\"\n") + line + "\n\"b\"\n");
    std::ostringstream out;
    Tokenizer bytes = Tokenizer::bytes();
    CHECK_THROWS_WITH(tokenize(bytes, in, out, false), Catch::Equals(message));
    CHECK(out.str() == "[97]\n");
  }
}

TEST_CASE("tokenize: lines of many batches keep their order and their numbers", "[cli]") {
  // Some 3 MB, with lines longer and shorter than a batch.
  std::string lines;
  std::string wanted;
  for (int i = 0; i < 200'000; ++i) {
    const auto letter = static_cast<char>('a' + i % 26);
    const size_t length = i == 70'000 ? 1'500'000 : i % 7;
    lines += '"' + std::string(length, letter) + "\"\n";
    wanted += '[';
    for (size_t k = 0; k < length; ++k) {
      wanted += (k > 0 ? "," : "") + std::to_string(letter);
    }
    wanted += "]\n";
  }
  CHECK((tokenized(Tokenizer::bytes(), lines) == wanted));  // in brackets: too long to print
  std::istringstream in(lines + "7\n");
  std::ostringstream out;
  Tokenizer bytes = Tokenizer::bytes();
  CHECK_THROWS_WITH(tokenize(bytes, in, out, false),
                    "line 200001: got number, wanted a JSON string");
  CHECK((out.str() == wanted));
}

TEST_CASE("tokenize: a line that cannot be encoded is named, and those before it are done",
          "[cli]") {
  const Workplace here;
  here.folder().write("t.json", kBacktracking);
  here.folder().write("lines", "\"ab\"\n\"b\"\n\"b" + std::string(5'000, 'a') + "b\"\n\"a\"\n");
  const Outcome got = here.run({"tokenize", "t.json"}, "<" + (here.folder() / "lines").string());
  CHECK(got.code == 1);
  CHECK(got.out == "[0,1]\n[1]\n");
  CHECK_THAT(got.err, Catch::Contains("line 3: tokenizer tokenizer_json: ") &&
                          Catch::Contains("gave up on the text at byte 0"));
}

TEST_CASE("tokenize: who waits for a line's ids before writing the next one gets them", "[cli]") {
  const Workplace here;
  const std::string pipe = here.folder() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  ChildProcess process = here.start({"tokenize", "bytes"}, "<>" + pipe);
  std::ofstream lines(pipe);
  lines << "\"a\"\n" << std::flush;
  const std::string ids = here.folder() / "out";
  for (int tenth = 0; tenth < 600 && quench::test::read_file(ids).empty(); ++tenth) {
    ::usleep(100'000);
  }
  CHECK(quench::test::read_file(ids) == "[97]\n");
  process.signal(SIGINT);
  CHECK(here.wait(process).code == 130);
}

TEST_CASE("tokenize: an output that fails is an error", "[cli]") {
  std::istringstream in("\"a\"\n");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  Tokenizer bytes = Tokenizer::bytes();
  CHECK_THROWS_WITH(tokenize(bytes, in, out, false), "the ids could not be written");
}

}  // namespace quench
