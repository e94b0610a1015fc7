#include "train/update_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quench {

namespace {

using Shape = LearningRateSchedule::Shape;
using Decay = LearningRateSchedule::Decay;

double fallen(const LearningRateSchedule& schedule, double from, double t) {
  return schedule.final + (from - schedule.final) * decay_remaining(schedule, t);
}

// Whether core/arithmetic has the formula.
bool is_plain(const LearningRateSchedule& schedule) {
  return schedule.cycle_steps == 0 &&
         (schedule.shape != Shape::kWsd || schedule.decay == Decay::kLinear ||
          schedule.decay == Decay::kSquareRoot);
}

}  // namespace

int64_t decay_start(const LearningRateSchedule& schedule) {
  return schedule.shape == Shape::kWsd ? *schedule.steps - schedule.decay_steps : schedule.warmup;
}

double decay_remaining(const LearningRateSchedule& schedule, double t) {
  if (schedule.shape == Shape::kCosine || schedule.decay == Decay::kCosine) {
    return 0.5 * (1 + std::cos(std::numbers::pi * t));
  }
  if (schedule.decay == Decay::kPower) {
    return 1 - std::pow(t, schedule.decay_power);
  }
  return schedule.decay == Decay::kSquareRoot ? 1 - std::sqrt(t) : 1 - t;
}

double cycle_peak(const LearningRateSchedule& schedule, int64_t cycle) {
  const double share = std::pow(schedule.cycle_factor, static_cast<double>(cycle));
  return std::max(schedule.final, schedule.peak * share);
}

double update_rate(const LearningRateSchedule& schedule, int64_t step) {
  if (is_plain(schedule) || step <= schedule.warmup || step <= decay_start(schedule)) {
    return rate_of_update(schedule, step);
  }
  if (step > *schedule.steps) {
    return schedule.final;
  }
  const int64_t into = step - decay_start(schedule);
  if (schedule.cycle_steps == 0) {
    const auto length = static_cast<double>(*schedule.steps - decay_start(schedule));
    return fallen(schedule, schedule.peak, static_cast<double>(into) / (length + 1));
  }
  const double peak = cycle_peak(schedule, (into - 1) / schedule.cycle_steps);
  const int64_t within = (into - 1) % schedule.cycle_steps;
  const double t = static_cast<double>(within) / static_cast<double>(schedule.cycle_steps);
  return within == 0 ? peak : fallen(schedule, peak, t);  // final + (peak − final) may round
}

}  // namespace quench
