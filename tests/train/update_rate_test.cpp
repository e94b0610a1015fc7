#include "train/update_rate.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/core/arithmetic/schedules.hpp"
#include "train/state_keys.hpp"

using quench::LearningRateSchedule;
using quench::rate_of_update;
using quench::StateKeys;
using quench::update_rate;
using quench::test::constant;
using quench::test::wsd;
using Shape = LearningRateSchedule::Shape;
using Decay = LearningRateSchedule::Decay;

namespace {

// Four steps of warm-up to 8, then linear cycles of four updates down to 4.
LearningRateSchedule cycles(double factor) {
  LearningRateSchedule out = wsd(16, 0);
  out.shape = Shape::kLinear;
  out.final = 4;
  out.cycle_steps = 4;
  out.cycle_factor = factor;
  return out;
}

std::vector<double> rates(const LearningRateSchedule& schedule, int64_t first, int64_t last) {
  std::vector<double> out;
  for (int64_t step = first; step <= last; ++step) {
    out.push_back(update_rate(schedule, step));
  }
  return out;
}

}  // namespace

TEST_CASE("update rates: linear cycles restart at the peak", "[train]") {
  using Rates = std::vector<double>;
  CHECK(rates(cycles(1), 1, 17) == Rates{2, 4, 6, 8, 8, 7, 6, 5, 8, 7, 6, 5, 8, 7, 6, 5, 4});
}

TEST_CASE("update rates: the peak of each cycle falls by the factor, never below the end",
          "[train]") {
  using Rates = std::vector<double>;
  CHECK(rates(cycles(0.75), 5, 16) == Rates{8, 7, 6, 5, 6, 5.5, 5, 4.5, 4.5, 4.375, 4.25, 4.125});
  CHECK(rates(cycles(0.25), 9, 16) == Rates{4, 4, 4, 4, 4, 4, 4, 4});
}

TEST_CASE("update rates: cosine cycles are those of SGDR", "[train]") {
  LearningRateSchedule schedule = cycles(1);
  schedule.shape = Shape::kCosine;
  for (const int64_t begin : {5, 9, 13}) {
    CAPTURE(begin);
    CHECK(update_rate(schedule, begin) == 8);
    CHECK(update_rate(schedule, begin + 1) == Approx(6 + 2 * std::sqrt(0.5)).epsilon(1e-15));
    CHECK(update_rate(schedule, begin + 2) == Approx(6).epsilon(1e-15));
    CHECK(update_rate(schedule, begin + 3) == Approx(6 - 2 * std::sqrt(0.5)).epsilon(1e-15));
  }
}

TEST_CASE("update rates: a restart has the peak to the bit", "[train]") {
  LearningRateSchedule schedule = cycles(1);
  schedule.peak = 0.3;
  schedule.final = 0.0063;
  REQUIRE(schedule.final + (schedule.peak - schedule.final) != schedule.peak);
  CHECK(update_rate(schedule, 9) == schedule.peak);
  CHECK(update_rate(schedule, 13) == schedule.peak);
}

TEST_CASE("update rates: cycles of a wsd begin behind its constant part and may be cut",
          "[train]") {
  LearningRateSchedule schedule = wsd(14, 7);
  schedule.cycle_steps = 4;
  schedule.decay = Decay::kPower;
  schedule.decay_power = 2;
  using Rates = std::vector<double>;
  CHECK(rates(schedule, 6, 15) == Rates{8, 8, 8, 7.5, 6, 3.5, 8, 7.5, 6, 0});
}

TEST_CASE("update rates: a wsd decays as a cosine or with a power", "[train]") {
  LearningRateSchedule schedule = wsd(10, 3);
  schedule.decay = Decay::kPower;
  schedule.decay_power = 2;
  using Rates = std::vector<double>;
  CHECK(rates(schedule, 4, 11) == Rates{8, 8, 8, 8, 7.5, 6, 3.5, 0});
  schedule.decay_power = 0.5;
  LearningRateSchedule root = wsd(10, 3);
  root.decay = Decay::kSquareRoot;
  CHECK(update_rate(schedule, 9) == Approx(update_rate(root, 9)).epsilon(1e-15));
  schedule.decay = Decay::kCosine;
  CHECK(update_rate(schedule, 8) == Approx(4 + 4 * std::sqrt(0.5)).epsilon(1e-15));
  CHECK(update_rate(schedule, 9) == Approx(4).epsilon(1e-15));
  CHECK(phase_of_update(schedule, 8) == "decay");
}

TEST_CASE("update rates: a schedule that decays to its peak stays there", "[train]") {
  LearningRateSchedule schedule = wsd(10, 3);
  schedule.final = 8;
  CHECK(rates(schedule, 4, 10) == std::vector<double>(7, 8.0));
}

TEST_CASE("update rates: schedules without restarts have the bits that they had", "[train]") {
  std::vector<LearningRateSchedule> plain = {constant(40), wsd(40, 11), wsd(40, 11)};
  plain[2].decay = Decay::kSquareRoot;
  for (const Shape shape : {Shape::kLinear, Shape::kCosine}) {
    plain.push_back(wsd(40, 0));
    plain.back().shape = shape;
    plain.back().final = 0.3;
  }
  for (const LearningRateSchedule& schedule : plain) {
    CAPTURE(static_cast<int>(schedule.shape));
    for (int64_t step = 1; step <= 45; ++step) {
      CHECK(std::bit_cast<uint64_t>(update_rate(schedule, step)) ==
            std::bit_cast<uint64_t>(rate_of_update(schedule, step)));
    }
  }
  // hashlib and struct of Python, with the formula of the program before there were restarts.
  CHECK(StateKeys("recipe", wsd(600, 100)).at(550) ==
        "7c77cd0b0e0f353afb637353188b14a9321cc8fa62530a62a0cde07b333463a4");
}

TEST_CASE("update rates: states before the first restart are shared", "[train]") {
  LearningRateSchedule once = cycles(1);
  LearningRateSchedule falling = cycles(0.75);
  CHECK(StateKeys("recipe", once).at(8) == StateKeys("recipe", falling).at(8));
  CHECK(StateKeys("recipe", once).at(9) != StateKeys("recipe", falling).at(9));
}
