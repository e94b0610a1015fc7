// Schedules of the learning rate for tests: four steps of warm-up, a peak of 8.
#pragma once

#include <cstdint>

#include "core/arithmetic/learning_rate.hpp"

namespace quench::test {

inline LearningRateSchedule wsd(int64_t steps, int64_t decay) {
  LearningRateSchedule out;
  out.shape = LearningRateSchedule::Shape::kWsd;
  out.peak = 8;
  out.warmup = 4;
  out.steps = steps;
  out.decay_steps = decay;
  return out;
}

inline LearningRateSchedule constant(int64_t steps) {
  LearningRateSchedule out = wsd(steps, 0);
  out.shape = LearningRateSchedule::Shape::kConstant;
  return out;
}

}  // namespace quench::test
