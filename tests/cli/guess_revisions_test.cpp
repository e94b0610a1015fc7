#include "cli/guess_revisions.hpp"

#include <catch2/catch.hpp>

using quench::guess_revisions;

namespace {

using Names = std::vector<std::string>;

std::string pattern_of(const Names& names) {
  return guess_revisions(names).pattern;
}

}  // namespace

TEST_CASE("guessed revisions: what comes before the digits names them", "[core][run]") {
  CHECK(pattern_of({"step0", "step1000"}) == "step{step}");
  CHECK(pattern_of({"global_step10", "global_step20"}) == "global_step{step}");
  CHECK(pattern_of({"checkpoint-500", "checkpoint-1000"}) == "checkpoint-{step}");
  CHECK(pattern_of({"stage1-step1000-tokens3B", "stage1-step2000-tokens5B"}) ==
        "stage1-step{step}-tokens{tokens}B");
  CHECK(pattern_of({"100", "200"}) == "{step}");
  CHECK(pattern_of({"v2_part7", "v2_part8"}) == "v2_part{step}");
  CHECK(pattern_of({"step5"}) == "step{step}");
  CHECK(pattern_of({"main", "final"}).empty());
  CHECK(pattern_of({}).empty());
}

TEST_CASE("guessed revisions: the largest group of equal shape wins, the rest is told",
          "[core][run]") {
  const auto guess = guess_revisions({"main", "step1", "step2", "v1", "step{3}"});
  CHECK(guess.pattern == "step{step}");
  CHECK(guess.matching == Names{"step1", "step2"});
  CHECK(guess.rest == Names{"main", "v1", "step{3}"});
}

TEST_CASE("guessed revisions: further numbers that vary are branches", "[core][run]") {
  const auto guess = guess_revisions({"ing1-step5", "ing1-step10", "ing2-step5"});
  CHECK(guess.pattern == "ing{i}-step{step}");
  CHECK(guess.others == Names{"i"});
}
