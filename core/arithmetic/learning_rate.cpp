#include "core/arithmetic/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quench {

namespace {

using Shape = LearningRateSchedule::Shape;

// Number of updates in the final decay.
int64_t decaying(const LearningRateSchedule& schedule) {
  switch (schedule.shape) {
    case Shape::kConstant:
      return 0;
    case Shape::kWsd:
      return schedule.decay_steps;
    case Shape::kLinear:
    case Shape::kCosine:
      return *schedule.steps - schedule.warmup;
  }
  return 0;
}

// 1 at the beginning of the decay, 0 at its end; t in [0, 1].
double remaining(const LearningRateSchedule& schedule, double t) {
  if (schedule.shape == Shape::kCosine) {
    return 0.5 * (1 + std::cos(std::numbers::pi * t));
  }
  return schedule.decay != LearningRateSchedule::Decay::kLinear ? 1 - std::sqrt(t) : 1 - t;
}

}  // namespace

double rate_of_update(const LearningRateSchedule& schedule, int64_t step) {
  if (step <= schedule.warmup) {
    return schedule.peak * static_cast<double>(step) / static_cast<double>(schedule.warmup);
  }
  const int64_t length = decaying(schedule);
  const int64_t into = step - (schedule.steps.value_or(step) - length);
  if (length == 0 || into <= 0) {
    return schedule.peak;
  }
  const double t = std::min(1.0, static_cast<double>(into) / static_cast<double>(length + 1));
  return schedule.final + (schedule.peak - schedule.final) * remaining(schedule, t);
}

std::string phase_of_update(const LearningRateSchedule& schedule, int64_t step) {
  if (step <= schedule.warmup) {
    return "warmup";
  }
  const int64_t length = decaying(schedule);
  return length == 0 || step <= *schedule.steps - length ? "constant" : "decay";
}

}  // namespace quench
