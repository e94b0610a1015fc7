#include "core/run/checkpoints.hpp"
#include "core/run/open_checkpoint.hpp"

#include <catch2/catch.hpp>

#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::RevisionPattern;

namespace {

// "step,tokens" of a match, "-" for what was not captured, "no" without a match.
std::string matched(const std::string& pattern, const std::string& name) {
  const auto match = RevisionPattern(pattern).match(name);
  if (!match) {
    return "no";
  }
  return (match->step ? std::to_string(*match->step) : "-") + "," +
         (match->tokens ? std::to_string(*match->tokens) : "-");
}

std::vector<std::string> revisions(const quench::ManifestCheckpoints& spec,
                                   const std::filesystem::path& folder,
                                   std::vector<std::string>* faults = nullptr) {
  quench::Problems problems;
  std::vector<std::string> out;
  for (const auto& cell : quench::find_checkpoints(spec, folder, {}, problems)) {
    out.push_back(cell.revision + ":" + (cell.step ? std::to_string(*cell.step) : "-"));
  }
  const std::string message = quench::test::message_of([&] { problems.throw_if_any(); }, folder);
  if (faults != nullptr) {
    faults->push_back(message);
  } else {
    CHECK(message.empty());
  }
  return out;
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

TEST_CASE("checkpoints: a folder's revisions are in the order of training", "[core][run]") {
  const quench::test::TemporaryDir folder;
  for (const char* name : {"step10", "step9", "step100", "final", "step7x"}) {
    std::filesystem::create_directories(folder / "run" / name);
  }
  folder.write("run/step8", "a file is no revision");
  quench::ManifestCheckpoints spec;
  spec.model = "run";
  SECTION("by pattern") {
    spec.pattern = "step{step}";
    CHECK(revisions(spec, folder.path()) ==
          std::vector<std::string>{"step9:9", "step10:10", "step100:100"});
  }
  SECTION("by name, in the order of the list") {
    spec.revisions = {{"final", {}}, {"step100", {}}};
    CHECK(revisions(spec, folder.path()) == std::vector<std::string>{"final:-", "step100:100"});
  }
  SECTION("without either the model itself is the checkpoint") {
    CHECK(revisions(spec, folder.path()) == std::vector<std::string>{":-"});
  }
  std::vector<std::string> faults;
  SECTION("a name that is not there is refused with the nearest") {
    spec.revisions = {{"step1000", {}}};
    revisions(spec, folder.path(), &faults);
    CHECK_THAT(faults.at(0), Catch::Contains("no revision \"step1000\"") &&
                                 Catch::Contains("nearest is step100"));
  }
  SECTION("a pattern that matches nothing is refused with what there is") {
    spec.pattern = "iter{step}";
    revisions(spec, folder.path(), &faults);
    CHECK_THAT(faults.at(0), Catch::Contains("matches \"iter{step}\"") &&
                                 Catch::Contains("there are 5: final, step10, step100"));
  }
  SECTION("a folder that is not there is refused") {
    spec.model = "walk";
    revisions(spec, folder.path(), &faults);
    CHECK_THAT(faults.at(0), Catch::Contains("walk is not there"));
  }
}

TEST_CASE("checkpoints: one on the command line knows its step from its name", "[core][run]") {
  const auto folder = quench::single_checkpoint("runs/a/step40/");
  CHECK(folder.location == "runs/a/step40/");
  CHECK(folder.revision.empty());
  const auto hub = quench::single_checkpoint("hf://org/name@step80");
  CHECK(hub.model == "hf://org/name");
  CHECK(hub.revision == "step80");
  CHECK(hub.location == "hf://org/name@step80");
  CHECK(hub.step == 80);
  CHECK_FALSE(quench::single_checkpoint("hf://org/name").step);
}
