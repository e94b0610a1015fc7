#include "core/arithmetic/learning_rate.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "tests/core/arithmetic/schedules.hpp"

using quench::LearningRateSchedule;
using quench::phase_of_update;
using quench::rate_of_update;
using quench::test::constant;
using quench::test::wsd;
using Shape = LearningRateSchedule::Shape;

TEST_CASE("training rates: wsd warms up, stays, and decays without a step at zero",
          "[arithmetic]") {
  const LearningRateSchedule schedule = wsd(10, 3);
  CHECK(rate_of_update(schedule, 1) == 2);
  CHECK(rate_of_update(schedule, 4) == 8);
  CHECK(rate_of_update(schedule, 7) == 8);
  CHECK(rate_of_update(schedule, 8) == 6);
  CHECK(rate_of_update(schedule, 9) == 4);
  CHECK(rate_of_update(schedule, 10) == 2);
  CHECK(phase_of_update(schedule, 4) == "warmup");
  CHECK(phase_of_update(schedule, 7) == "constant");
  CHECK(phase_of_update(schedule, 8) == "decay");
}

TEST_CASE("training rates: 1-sqrt, cosine and linear end above their final rate", "[arithmetic]") {
  LearningRateSchedule schedule = wsd(10, 3);
  schedule.decay = LearningRateSchedule::Decay::kSquareRoot;
  CHECK(rate_of_update(schedule, 8) == Approx(8 * (1 - std::sqrt(0.25))));
  schedule.shape = Shape::kCosine;
  schedule.final = 1;
  CHECK(rate_of_update(schedule, 5) == Approx(1 + 7 * 0.5 * (1 + std::cos(std::numbers::pi / 7))));
  schedule.shape = Shape::kLinear;
  schedule.decay = LearningRateSchedule::Decay::kLinear;
  CHECK(rate_of_update(schedule, 10) == Approx(1 + 7.0 / 7));
}

TEST_CASE("training rates: beyond its end a decayed schedule stays at its final rate",
          "[arithmetic]") {
  CHECK(rate_of_update(wsd(10, 3), 11) == 0);
  CHECK(rate_of_update(wsd(10, 3), 1000) == 0);
  CHECK(rate_of_update(constant(10), 1000) == 8);
}
