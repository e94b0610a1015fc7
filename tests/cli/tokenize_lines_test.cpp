#include "cli/tokenize_lines.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "core/error.hpp"

namespace quench {

namespace {

std::string tokenized(Tokenizer tokenizer, const std::string& lines, bool special = false) {
  std::istringstream in(lines);
  std::ostringstream out;
  CHECK(tokenize(tokenizer, in, out, special) == 0);
  return out.str();
}

}  // namespace

TEST_CASE("tokenize: one array for each line", "[cli]") {
  CHECK(tokenized(Tokenizer::bytes(), "\"ab\"\n\"\"\n\"\\u00e9\\n\"") ==
        "[97,98]\n[]\n[195,169,10]\n");
  CHECK(tokenized(Tokenizer::bytes(), "\"a\"\r\n") == "[97]\n");
  CHECK(tokenized(Tokenizer::bytes(), "") == "");
}

TEST_CASE("tokenize: a bad line is named, and those before it are done", "[cli]") {
  const std::pair<const char*, const char*> bad[] = {
      {"7", "line 2: expected a JSON string, got number"},
      {"[\"a\"]", "line 2: expected a JSON string, got array"},
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

TEST_CASE("tokenize: an output that fails is an error", "[cli]") {
  std::istringstream in("\"a\"\n");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  Tokenizer bytes = Tokenizer::bytes();
  CHECK_THROWS_WITH(tokenize(bytes, in, out, false), "line 1: the ids could not be written");
}

}  // namespace quench
