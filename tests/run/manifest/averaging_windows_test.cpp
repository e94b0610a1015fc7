#include "run/manifest/averaging_windows.hpp"

#include <catch2/catch.hpp>

#include "core/plugin/catalog/parameters.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

AveragingCell averaging(const std::string& id, const nlohmann::json& given) {
  const PluginDescription& plugin = built_catalog().require("averaging", id);
  std::vector<ParameterProblem> problems;
  AveragingCell cell{&plugin, complete_parameters(plugin, given, problems), id, ""};
  REQUIRE(problems.empty());
  return cell;
}

std::vector<CheckpointCell> branch(const std::string& name, const std::vector<int64_t>& steps) {
  std::vector<CheckpointCell> cells;
  for (const int64_t step : steps) {
    CheckpointCell cell;
    cell.branch = name;
    cell.revision = "step" + std::to_string(step);
    cell.step = step;
    cells.push_back(cell);
  }
  return cells;
}

std::vector<CheckpointCell> operator+(std::vector<CheckpointCell> a,
                                      const std::vector<CheckpointCell>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

using Windows = std::vector<std::vector<size_t>>;

Windows windows(const AveragingCell& cell, const std::vector<CheckpointCell>& checkpoints,
                const std::vector<size_t>& of = {}) {
  Windows out;
  for (const WeightsCell& weights : averaged_weights(built_catalog(), cell, 3, checkpoints, of)) {
    CHECK(weights.averaging == 3);
    CHECK(weights.checkpoint == weights.members.back());
    out.push_back(weights.members);
  }
  return out;
}

}  // namespace

TEST_CASE("averaging windows: a window slides along a branch", "[core][averaging]") {
  CHECK(windows(averaging("lawa", {{"window", 3}}), branch("", {0, 7, 20, 21})) ==
        Windows{{0, 1, 2}, {1, 2, 3}});
}

TEST_CASE("averaging windows: none crosses from one branch into the next", "[core][averaging]") {
  const auto tree = branch("a", {100, 200, 300}) + branch("b", {300, 400}) + branch("c", {500});
  CHECK(windows(averaging("lawa", {{"window", 2}}), tree) == Windows{{0, 1}, {1, 2}, {3, 4}});
}

TEST_CASE("averaging windows: a spacing takes the checkpoints that lie on it",
          "[core][averaging]") {
  const auto cells = branch("", {0, 100, 150, 200, 300, 450});
  CHECK(windows(averaging("lawa", {{"window", 3}, {"every", 100}}), cells) ==
        Windows{{0, 1, 3}, {1, 3, 4}});
  // From 450 by 150: 450, 300, 150, 0.
  CHECK(windows(averaging("lawa", {{"window", 4}, {"every", 150}}), cells) ==
        Windows{{0, 2, 4, 5}});
}

TEST_CASE("averaging windows: a gap behind the first average is told, a window that fills is not",
          "[core][averaging]") {
  const auto gaps = [](const AveragingCell& cell, const std::vector<CheckpointCell>& checkpoints) {
    std::vector<std::string> out;
    averaged_weights(built_catalog(), cell, 0, checkpoints, {}, &out);
    return out;
  };
  CHECK(gaps(averaging("lawa", {{"window", 3}}), branch("", {0, 7, 20, 21})).empty());
  CHECK(gaps(averaging("lawa", {{"window", 2}, {"every", 100}}),
             branch("", {100, 200, 300, 350, 450, 560, 680, 700})) ==
        std::vector<std::string>{
            "averaging lawa: no average at step350, step560, step680 and 1 more: averaging lawa: "
            "step700: no checkpoint 100 steps before it, wanted 2 checkpoints 100 steps apart"});
  // A branch without any average is told, too.
  const auto tree = branch("a", {100, 200, 300}) + branch("b", {500});
  CHECK(gaps(averaging("lawa", {{"window", 2}}), tree) ==
        std::vector<std::string>{"averaging lawa: no average at b step500: averaging lawa: "
                                 "step500: got 1 checkpoint up to here, wanted 2"});
}

TEST_CASE("averaging windows: an average that exists nowhere is an error with the reason",
          "[core][averaging]") {
  const auto cells = branch("a", {100, 200, 300}) + branch("b", {300});
  CHECK(message_of([&] {
          windows(averaging("lawa", {{"window", 2}, {"every", 50}}), cells);
        }) ==
        "no checkpoint has this average: averaging lawa: step300: no checkpoint 50 "
        "steps before it, wanted 2 checkpoints 50 steps apart");
  CHECK(message_of([&] {
          windows(averaging("lawa", {{"window", 4}}), cells);
        }) ==
        "no checkpoint has this average: averaging lawa: step300: got 3 checkpoints up to here, "
        "wanted 4");
  auto unknown = branch("a", {1, 2});
  unknown[0].step.reset();
  unknown[1].step.reset();
  CHECK(message_of([&] {
          windows(averaging("lawa", {{"window", 2}, {"every", 1}}), unknown);
        }) ==
        "no checkpoint has this average: averaging lawa: step2: its step is not known, wanted "
        "checkpoints 1 apart");
}

TEST_CASE("averaging windows: an explicit set is one average in the order given",
          "[core][averaging]") {
  const auto cells = branch("a", {100, 200}) + branch("b", {200}) + branch("c", {150});
  CHECK(windows(averaging("soup", {}), cells, {1, 2, 3}) == Windows{{1, 2, 3}});
  CHECK(windows(averaging("linear", {{"weights", {0.9, 0.1}}}), cells, {2, 0}) == Windows{{2, 0}});
  CHECK(message_of([&] {
          windows(averaging("soup", {}), cells, {1, 1});
        }) == "averaging soup: `of` names a checkpoint twice");
  CHECK(message_of([&] {
          windows(averaging("linear", {{"weights", {0.9, 0.1}}}), cells, {0, 1, 2});
        }) == "averaging linear: `of` names 3 checkpoints, the scheme takes 2");
  CHECK(message_of([&] {
          windows(averaging("linear", {{"weights", {0.9, 0.1}}}), cells, {0});
        }) == "averaging linear: step100: got 1 checkpoint up to here, wanted 2");
}

TEST_CASE("averaging windows: a soup of a branch is at its last checkpoint", "[core][averaging]") {
  const auto cells = branch("a", {1, 2, 3}) + branch("b", {4, 5});
  CHECK(windows(averaging("soup", {}), cells) == Windows{{0, 1, 2}, {3, 4}});
}

TEST_CASE("averaging windows: an ema has all snapshots on its stride", "[core][averaging]") {
  CHECK(windows(averaging("ema", {}), branch("", {5, 6, 8})) == Windows{{0}, {0, 1}, {0, 1, 2}});
  CHECK(windows(averaging("ema", {{"stride", 100}}), branch("", {0, 100, 150, 200})) ==
        Windows{{0}, {0, 1}, {0, 1, 3}});
}

}  // namespace quench::test
