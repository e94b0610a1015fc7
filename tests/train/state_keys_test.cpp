#include "train/state_keys.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "tests/core/arithmetic/schedules.hpp"

using quench::LearningRateSchedule;
using quench::StateKeys;
using quench::test::constant;
using quench::test::wsd;

TEST_CASE("state keys: a fork shares those of its constant part and no others", "[train]") {
  const StateKeys trunk("recipe", constant(700));
  const StateKeys forked("recipe", wsd(600, 100));
  CHECK(trunk.at(0) == forked.at(0));
  CHECK(trunk.at(300) == forked.at(300));
  CHECK(trunk.at(500) == forked.at(500));
  CHECK(trunk.at(501) != forked.at(501));
  CHECK(trunk.at(512) != forked.at(512));
}

TEST_CASE("state keys: every step, every recipe and every peak has its own", "[train]") {
  const StateKeys keys("recipe", constant(600));
  std::set<std::string> seen;
  for (int64_t step = 0; step <= 600; ++step) {
    CHECK(seen.insert(keys.at(step)).second);
  }
  CHECK(StateKeys("other", constant(600)).at(3) != keys.at(3));
  LearningRateSchedule higher = constant(600);
  higher.peak = 9;
  CHECK(StateKeys("recipe", higher).at(3) != keys.at(3));
}

TEST_CASE("state keys: a change of the recipe parts from the step after which it holds",
          "[train]") {
  const StateKeys plain("recipe", wsd(600, 100));
  const StateKeys other("recipe", wsd(600, 100), quench::RecipeChange{500, "order 1 "});
  const StateKeys third("recipe", wsd(600, 100), quench::RecipeChange{500, "order 2 "});
  CHECK(other.at(500) == plain.at(500));
  for (const int64_t step : {501, 512, 600}) {
    CHECK(other.at(step) != plain.at(step));
    CHECK(other.at(step) != third.at(step));
  }
}

TEST_CASE("state keys: those of forks with an order stay as they are", "[train]") {
  const StateKeys keys("recipe", wsd(600, 100), quench::RecipeChange{500, "order 1 "});
  CHECK(keys.at(501) == "50f8e5716e9eeb818e56d7046f9a00e28355f55419cd3377bbbb3f9b4a5212f2");
}

TEST_CASE("state keys: a longer run has the keys of a shorter one", "[train]") {
  const StateKeys shorter("recipe", constant(300));
  const StateKeys longer("recipe", constant(3000));
  for (const int64_t step : {0, 1, 255, 256, 257, 300}) {
    CHECK(shorter.at(step) == longer.at(step));
  }
}
