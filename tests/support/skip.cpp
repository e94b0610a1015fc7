#include "tests/support/skip.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <set>

namespace quench::test {

namespace {

std::set<std::string>& skipped() {
  static std::set<std::string> names;
  return names;
}

}  // namespace

void skip(const std::string& why) {
  std::fprintf(stderr, "SKIPPED: %s\n", why.c_str());
  skipped().insert(Catch::getResultCapture().getCurrentTestName());
  SUCCEED("skipped: " + why);  // a case without any assertion fails
  // What a failed REQUIRE ends a test case with; the failure itself would have been recorded
  // before.
  throw Catch::TestFailureException();
}

void skip_unless(bool possible, const std::string& why) {
  if (!possible) {
    skip(why);
  }
}

size_t skipped_cases() {
  return skipped().size();
}

}  // namespace quench::test
