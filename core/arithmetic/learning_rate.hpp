// The learning rate of a training: one of the usual shapes, and its value at every update.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quench {

// The learning rate as a function of the step, as training code has it.
struct LearningRateSchedule {
  enum class Shape { kConstant, kLinear, kCosine, kWsd };
  Shape shape = Shape::kConstant;
  double peak = 0;
  double final = 0;                      // at `steps`
  int64_t warmup = 0;                    // steps from 0 to the peak
  std::optional<int64_t> steps;          // of the whole run; beyond it the rate is not known
  int64_t decay_steps = 0;               // of wsd, at the end
  bool decays_with_square_root = false;  // of wsd: 1 − √t instead of 1 − t
};

// The rate of update `step`, from 1. Warming up, the s-th of W updates has peak·s/W; of D decaying
// updates the k-th lies at t = k/(D + 1) of the decay, so none is spent at a rate of zero (unless
// `final` is), and the last one before the decay is at the peak. Beyond the end: `final`, or the
// peak where the rate does not decay.
double rate_of_update(const LearningRateSchedule& schedule, int64_t step);

// The part of the schedule that an update belongs to: "warmup", "constant" or "decay".
std::string phase_of_update(const LearningRateSchedule& schedule, int64_t step);

}  // namespace quench
