#include "core/plugin/process/output_tail.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using quench::on_one_line;
using quench::OutputTail;

TEST_CASE("output tail: the last fifty lines are kept, without empty ones", "[apart]") {
  OutputTail tail;
  CHECK(tail.text().empty());
  for (int line = 1; line <= 200; ++line) {
    tail.add("line " + std::to_string(line) + "\r\n\n");
  }
  const std::string text = tail.text();
  CHECK_THAT(text, Catch::StartsWith("line 151\nline 152\n"));
  CHECK_THAT(text, Catch::EndsWith("\nline 199\nline 200"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 49);
}

TEST_CASE("output tail: a line may come in parts and have no end", "[apart]") {
  OutputTail tail;
  tail.add("first\nsec");
  tail.add("ond");
  CHECK(tail.text() == "first\nsecond");
}

TEST_CASE("output tail: what is kept is bounded, whatever was printed", "[apart]") {
  OutputTail tail;
  for (int i = 0; i < 100; ++i) {
    tail.add(std::string(100'000, 'a'));
  }
  CHECK(tail.text().size() == OutputTail::kMostBytes);
  tail.add("\nlast");
  CHECK_THAT(tail.text(), Catch::EndsWith("aaa\nlast"));
}

TEST_CASE("output tail: control characters are escaped, and no character is cut in half",
          "[apart]") {
  OutputTail tail;
  tail.add("\x1b[31mred\a\xff");
  CHECK(tail.text() == "\\x1b[31mred\\x07\\xff");
  CHECK(on_one_line("ääää", 3) == "...ä");
}

TEST_CASE("output tail: on one line its lines are told apart and its end is what is kept",
          "[apart]") {
  CHECK(on_one_line("") == "");
  CHECK(on_one_line("a\nb") == "a | b");
  CHECK(on_one_line("abcdef", 3) == "...def");
}
