#include "core/base/process/shell_word.hpp"

#include <catch2/catch.hpp>

#include "tests/support/subprocess.hpp"

using quench::shell_word;

TEST_CASE("shell word: a shell reads back what was written", "[core][process]") {
  CHECK(shell_word("--set") == "--set");
  CHECK(shell_word("/a/b-c_d.yaml") == "/a/b-c_d.yaml");
  CHECK(shell_word("") == "''");
  for (const char* word :
       {"a b", "it's", "$HOME", "`id`", "a\nb", "\\", "\"", "*", "a;b", "~", "'"}) {
    CAPTURE(word);
    CHECK(quench::test::run_shell("printf %s " + shell_word(word)).out == word);
  }
}
