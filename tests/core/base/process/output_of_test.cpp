#include "core/base/process/output_of.hpp"

#include <catch2/catch.hpp>
#include <system_error>

#include "core/base/process/shell_word.hpp"

using quench::output_of;
using quench::shell_word;
using std::chrono::seconds;

TEST_CASE("output of: both streams, the exit code, and an empty input", "[core][process]") {
  const auto got = output_of({"/bin/sh", "-c", "echo out; echo err >&2; cat; exit 3"}, seconds(60));
  CHECK(got.code == 3);
  CHECK(got.out == "out\n");
  CHECK(got.err == "err\n");
  CHECK_FALSE(got.timed_out);
}

TEST_CASE("output of: a program that prints more than a MiB ends, and its first MiB is kept",
          "[core][process]") {
  const auto got = output_of({"/bin/sh", "-c", "head -c 3000000 /dev/zero"}, seconds(60));
  CHECK(got.code == 0);
  CHECK(got.out.size() == (size_t{1} << 20));
}

TEST_CASE("output of: a program that does not end is killed at the limit", "[core][process]") {
  const auto got = output_of({"/bin/sh", "-c", "echo begun; exec sleep 1000"}, seconds(1));
  CHECK(got.timed_out);
  CHECK(got.code == 137);
  CHECK(got.out == "begun\n");
}

TEST_CASE("output of: a program that PATH does not have is told apart", "[core][process]") {
  std::error_code why;
  try {
    output_of({"no-such-program-anywhere"}, seconds(1));
  } catch (const std::system_error& error) {
    why = error.code();
  }
  CHECK(why == std::errc::no_such_file_or_directory);
}

TEST_CASE("shell word: a shell reads back what was written", "[core][process]") {
  CHECK(shell_word("--set") == "--set");
  CHECK(shell_word("/a/b-c_d.yaml") == "/a/b-c_d.yaml");
  CHECK(shell_word("") == "''");
  for (const char* word :
       {"a b", "it's", "$HOME", "`id`", "a\nb", "\\", "\"", "*", "a;b", "~", "'"}) {
    CAPTURE(word);
    CHECK(output_of({"/bin/sh", "-c", "printf %s " + shell_word(word)}, seconds(60)).out == word);
  }
}
