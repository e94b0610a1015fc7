// Cases that fail, skip or check nothing, for main_test.cpp, which runs them one by one.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/skip.hpp"

using quench::test::skip;
using quench::test::skip_unless;

TEST_CASE("compares large vectors") {
  std::vector<float> values(288'000, 0.5F);
  const std::vector<float> other = values;
  values[7] = 1;
  CHECK(values == other);
}

TEST_CASE("fails a thousand times") {
  for (int i = 0; i < 1000; ++i) {
    CHECK(i < 0);
  }
}

TEST_CASE("checks nothing") {}

TEST_CASE("skips") {
  skip("the moon is not full");
}

TEST_CASE("skips one section") {
  SECTION("skipped") {
    skip("the moon is not full");
  }
  SECTION("checked") {
    CHECK(true);
  }
}

TEST_CASE("skips one section and fails in the other") {
  SECTION("skipped") {
    skip("the moon is not full");
  }
  SECTION("checked") {
    CHECK(false);
  }
}

TEST_CASE("skips one value") {
  const int value = GENERATE(1, 2);
  skip_unless(value == 2, "one is skipped");
  CHECK(value == 2);
}

TEST_CASE("checks behind its sections") {
  int value = 0;
  SECTION("one") {
    value = 1;
  }
  SECTION("two") {
    value = 2;
  }
  CHECK(value > 0);
}

TEST_CASE("passes") {
  skip_unless(true, "never");
  CHECK(true);
}
