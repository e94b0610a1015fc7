// What is wrong with a section `train`, told before any work.
#include <catch2/catch.hpp>

#include "tests/train/training_scene.hpp"

using quench::test::Ended;
using quench::test::SceneSettings;
using quench::test::TrainingScene;

namespace {

// The first line of what the program says of a manifest that is wrong.
std::string complaint(const SceneSettings& settings) {
  const TrainingScene scene(settings);
  const Ended ended = scene.run();
  CHECK(ended.code == 2);
  return ended.err;
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("train section: an unknown key and a wrong range have their places", "[train][config]") {
  SceneSettings settings;
  settings.rest = "steps: 12, evry: 4, clip: -1";
  const std::string text = complaint(settings);
  says(text, "m.yaml:3:");
  says(text, "train: unknown key `evry`; did you mean `every`?");
  says(text, "train: `clip`: got -1, wanted at least 0");
}

TEST_CASE("train section: an unknown optimizer and parameter are told", "[train][config]") {
  SceneSettings settings;
  settings.optimizer = "adamv";
  says(complaint(settings), "adamw");
  settings.optimizer = "{adamw: {beta: 3}}";
  says(complaint(settings), "optimizer adamw:");
}

TEST_CASE("train section: every fork's wrong optimizer is told at its place", "[train][config]") {
  SceneSettings settings;
  settings.rest =
      "steps: 12, forks: {f: {steps: 12, decay_steps: 6, optimizer: sam2}, g: {steps: 12, "
      "decay_steps: 6, optimizer: {sam: {rho: -1}}}}";
  const std::string text = complaint(settings);
  says(text, "m.yaml:3:");
  says(text, "no optimizer is called sam2; did you mean sam?");
  says(text, "optimizer sam: rho: got -1, wanted at least 0");
}

TEST_CASE("train section: forks start where the rate is constant", "[train][config]") {
  SceneSettings settings;
  settings.rest = "steps: 12, forks: {f: {steps: 12, decay_steps: 11}}";
  says(complaint(settings), "train: fork f: starts at step 1 = steps - decay_steps, wanted 2..12");
  settings.rest = "steps: 12, forks: {f: {steps: 12e99, decay_steps: 300}}";
  says(complaint(settings), "train: fork f: `steps`: got the number 12e99, wanted a count");
  settings.rest = "steps: 12, forks: {f: {steps: 12, decay_steps: 11}}";
  settings.rate = "{schedule: cosine, peak: 0.01}";
  says(complaint(settings), "forks start from a constant rate");
}

TEST_CASE("train section: a fork's cycles fit its decay", "[train][config]") {
  SceneSettings settings;
  settings.rest = "steps: 12, forks: {f: {steps: 12, decay_steps: 6, cycle_steps: 7}}";
  says(complaint(settings),
       "train: fork f: `cycle_steps`: got 7, wanted at most the 6 steps of the decay");
  settings.rest = "steps: 12, forks: {f: {steps: 12, decay_steps: 6, decay: power}}";
  says(complaint(settings), "train: fork f: `decay: power` asks for `decay_power`");
}

TEST_CASE("train section: a batch that micro-batches do not divide is told", "[train][config]") {
  SceneSettings settings;
  settings.rest = "steps: 12, micro_batch: 3";
  says(complaint(settings), "`micro_batch`: got 3, wanted a divisor of the batch, 4");
}

TEST_CASE("train section: the rate's schedule takes no length of its own", "[train][config]") {
  SceneSettings settings;
  settings.rate = "{schedule: constant, peak: 0.01, steps: 12}";
  says(complaint(settings), "train: lr: unknown key `steps`; it belongs under `train`");
}
