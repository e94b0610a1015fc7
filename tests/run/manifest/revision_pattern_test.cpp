#include "run/manifest/revision_pattern.hpp"

#include <catch2/catch.hpp>

#include "tests/support/throws.hpp"

using quench::RevisionPattern;

namespace {

// "step,tokens" of a match, "-" for what was not captured, "no" without a match.
std::string matched(const std::string& pattern, const std::string& name) {
  const auto match = RevisionPattern(pattern).match(name);
  if (!match) {
    return "no";
  }
  const auto captured = [&](const char* capture) {
    const auto found = match->find(capture);
    return found == match->end() ? std::string("-") : std::to_string(found->second.value);
  };
  return captured("step") + "," + captured("tokens");
}

}  // namespace

TEST_CASE("revision pattern: captures are digits of the whole name", "[core][run]") {
  CHECK(matched("step{step}", "step120") == "120,-");
  CHECK(matched("step{step}", "step0") == "0,-");
  CHECK(matched("step{step}", "step") == "no");
  CHECK(matched("step{step}", "step-1") == "no");
  CHECK(matched("step{step}", "step120x") == "no");
  CHECK(matched("step{step}", "a-step120") == "no");
  CHECK(matched("step{step}-seed{seed}", "step5-seed3") == "5,-");
  CHECK(matched("main", "main") == "-,-");
  CHECK(matched("main", "main2") == "no");
}

TEST_CASE("revision pattern: units come from the pattern, or from the name", "[core][run]") {
  CHECK(matched("stage1-step{step}-tokens{tokens}B", "stage1-step1000-tokens3B") ==
        "1000,3000000000");
  CHECK(matched("tokens{tokens}", "tokens3B") == "-,3000000000");
  CHECK(matched("tokens{tokens}", "tokens2T") == "-,2000000000000");
  CHECK(matched("tokens{tokens}", "tokens7M") == "-,7000000");
  CHECK(matched("step{step}-{tokens}M", "step10k-4M") == "10000,4000000");
  CHECK(matched("step{step}K", "step10K") == "10000,-");
  CHECK(matched("tokens{tokens}B", "tokens3M") == "no");
}

TEST_CASE("revision pattern: numbers that do not fit are no match", "[core][run]") {
  CHECK(matched("step{step}", "step9223372036854775807") == "9223372036854775807,-");
  CHECK(matched("step{step}", "step9223372036854775808") == "no");
  CHECK(matched("step{step}", "step9223372036854775807k") == "no");
  CHECK(matched("step{step}", "step99999999999999999999999999") == "no");
}

TEST_CASE("revision pattern: braces that make no capture are refused", "[core][run]") {
  for (const char* pattern : {"step{step", "step{}", "{step}-{step}"}) {
    INFO(pattern);
    CHECK(quench::test::code_of([&] { RevisionPattern{pattern}; }) == QUENCH_INVALID_ARGUMENT);
  }
}

TEST_CASE("revision pattern: captures fill a name as they were written", "[core][run]") {
  const auto match = RevisionPattern("ing{i}-step{step}k").match("ing07-step20k");
  REQUIRE(match);
  CHECK(match->at("i").text == "07");
  CHECK(match->at("i").value == 7);
  CHECK(match->at("step").value == 20'000);
  CHECK(RevisionPattern("branch {i} of {j}").filled(*match) == "branch 07 of {j}");
  CHECK(RevisionPattern("a{b}c{d}").captures() == std::vector<std::string>{"b", "d"});
  CHECK(RevisionPattern("abc").captures().empty());
}

TEST_CASE("named position: digits behind step and tokens, with their unit", "[core][run]") {
  const auto position = quench::named_position("stage1-step1000-tokens3B");
  CHECK(position.step == 1000);
  CHECK(position.tokens == 3'000'000'000);
  CHECK(quench::named_position("global_step20").step == 20);
  CHECK_FALSE(quench::named_position("main").step);
  CHECK_FALSE(quench::named_position("step-5").step);
  CHECK_FALSE(quench::named_position("step99999999999999999999").step);
}
