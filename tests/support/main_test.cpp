// What ctest sees of a test binary: its exit code, and how much it prints.
#include <catch2/catch.hpp>

#include "tests/support/fixtures.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

using quench::test::binary_dir;
using quench::test::Ended;
using quench::test::run_program;
using quench::test::TemporaryDir;

namespace {

constexpr int kFailed = 1;
constexpr int kSkipped = 77;

Ended run_case(const std::string& name) {
  const TemporaryDir folder;
  return run_program({(binary_dir() / "tests/support_odd_cases").string(), name}, {},
                     folder.path());
}

}  // namespace

TEST_CASE("test binary: a skipped case is told from a passed and a failed one", "[support]") {
  CHECK(run_case("passes").code == 0);
  const Ended skipped = run_case("skips");
  CHECK(skipped.code == kSkipped);
  CHECK(skipped.err == "SKIPPED: the moon is not full\n");
  CHECK(run_case("skips one section").code == kSkipped);
  CHECK(run_case("skips one value").code == kSkipped);
  CHECK(run_case("skips one section and fails in the other").code == kFailed);
  CHECK(run_case("passes,skips").code == 0);
}

TEST_CASE("test binary: a case that checks nothing fails, and so does a name of no case",
          "[support]") {
  const Ended nothing = run_case("checks nothing");
  CHECK(nothing.code == kFailed);
  CHECK(nothing.err == "checks nothing: no assertion was made\n");
  CHECK(run_case("checks behind its sections").code == 0);
  CHECK(run_case("there is no such case").code == kFailed);
}

TEST_CASE("test binary: what is printed of a failure is bounded", "[support]") {
  const Ended large = run_case("compares large vectors");
  CHECK(large.code == kFailed);
  CHECK(large.out.size() < 20'000);
  CHECK_THAT(large.out, Catch::Contains("bytes in all"));
  const Ended many = run_case("fails a thousand times");
  CHECK(many.code == kFailed);
  CHECK(many.out.size() < 20'000);
}

TEST_CASE("test summary: counts results and says why tests were skipped", "[support]") {
  const TemporaryDir folder;
  folder.write("CMakeLists.txt",
               "cmake_minimum_required(VERSION 3.25)\nproject(few NONE)\nenable_testing()\n"
               "add_test(NAME good COMMAND true)\nadd_test(NAME bad COMMAND false)\n"
               "add_test(NAME odd COMMAND sh -c \"seq 9999; echo 'SKIPPED: a < b' >&2; exit 77\")\n"
               "set_tests_properties(odd PROPERTIES SKIP_RETURN_CODE 77)\n");
  const auto run = [&](const std::string& line) {
    return run_program({"/bin/sh", "-c", line}, {}, folder.path());
  };
  REQUIRE(run("cmake -S . -B build").code == 0);
  CHECK(run("ctest --test-dir build --output-junit out.xml").code != 0);
  const Ended summary =
      run("'" + (quench::test::source_dir() / "tests/summary.py").string() + "' build/out.xml");
  INFO(summary.err);
  CHECK(summary.out == "1 passed, 1 failed, 1 skipped\n  skipped 1: a < b\n");
}
