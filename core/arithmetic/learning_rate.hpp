// Learning-rate schedules of the usual shapes, and their value at every update.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quench {

// The learning rate as a function of the step, as training code defines it.
struct LearningRateSchedule {
  enum class Shape { kConstant, kLinear, kCosine, kWsd };
  Shape shape = Shape::kConstant;
  double peak = 0;
  double final = 0;                      // at `steps`
  int64_t warmup = 0;                    // steps from 0 to the peak
  std::optional<int64_t> steps;          // length of the whole run; beyond it the rate is unknown
  int64_t decay_steps = 0;               // wsd: length of the decay at the end
  bool decays_with_square_root = false;  // wsd: 1 − √t instead of 1 − t
};

// The rate of update `step`, counted from 1. Of W warmup updates, the s-th has peak·s/W. Of D decay
// updates, the k-th is at t = k/(D + 1) of the decay, so no update has rate zero (unless `final` is
// 0), and the last one before the decay has the peak rate. Beyond the end: `final`, or the peak if
// the rate does not decay.
double rate_of_update(const LearningRateSchedule& schedule, int64_t step);

// The phase of the schedule that an update belongs to: "warmup", "constant" or "decay".
std::string phase_of_update(const LearningRateSchedule& schedule, int64_t step);

}  // namespace quench
