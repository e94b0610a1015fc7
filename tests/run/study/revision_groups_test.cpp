#include "run/study/revision_groups.hpp"

#include <catch2/catch.hpp>

using quench::group_revisions;
using quench::RevisionGroup;

namespace {

using Names = std::vector<std::string>;

RevisionGroup only_group(const Names& names) {
  const std::vector<RevisionGroup> found = group_revisions(names);
  REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace

TEST_CASE("study: revisions that differ in step and tokens are one branch", "[study]") {
  const RevisionGroup group = only_group({"stage1-step2000-tokens9B", "stage1-step10-tokens15T"});
  CHECK(group.name == "stage1");
  CHECK(group.pattern == "stage1-step{step}-tokens{tokens}");
  CHECK(group.revisions == Names{"stage1-step2000-tokens9B", "stage1-step10-tokens15T"});
}

TEST_CASE("study: every word for a step is found, and what is before it names the branch",
          "[study]") {
  const std::pair<Names, std::pair<std::string, std::string>> cases[] = {
      {{"iter_0058000", "iter_0064000"}, {"run", "iter_{step}"}},
      {{"ckpt_000", "ckpt_010"}, {"run", "ckpt_{step}"}},
      {{"stage3-step-4240000", "stage3-step-20"}, {"stage3", "stage3-step-{step}"}},
      {{"lc-32k-to-64k-step-20000"}, {"lc-32k-to-64k", "lc-32k-to-64k-step-{step}"}},
      {{"ckpt_step_20.pth"}, {"run", "ckpt_step_{step}.pth"}},
      {{"ckpt_step_20_4bits_GPTQ_HF"}, {"run", "ckpt_step_{step}_4bits_GPTQ_HF"}},
      {{"step5"}, {"run", "step{step}"}}};
  for (const auto& [names, wanted] : cases) {
    CAPTURE(names.front());
    const RevisionGroup group = only_group(names);
    CHECK(group.name == wanted.first);
    CHECK(group.pattern == wanted.second);
  }
}

TEST_CASE("study: runs and names without a place have branches of their own", "[study]") {
  const auto found = group_revisions({"stage2-ingredient1-step7-tokens1B", "main",
                                      "stage2-ingredient2-step7-tokens1B", "it-SFT", "main"});
  REQUIRE(found.size() == 4);
  CHECK(found[0].name == "stage2-ingredient1");
  CHECK(found[1].name == "main");
  CHECK(found[1].pattern.empty());
  CHECK(found[1].revisions == Names{"main"});
  CHECK(found[2].name == "stage2-ingredient2");
  CHECK(found[3].name == "it-SFT");
}

TEST_CASE("study: two branches never have one name", "[study]") {
  const auto found = group_revisions({"step5", "ckpt_5", "run"});
  REQUIRE(found.size() == 3);
  CHECK(found[0].name == "run");
  CHECK(found[1].name == "run'");
  CHECK(found[2].name == "run''");
}
