// Learning-rate schedules of the usual shapes, and their value at every update.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quench {

// The learning rate as a function of the step, as training code defines it.
struct LearningRateSchedule {
  enum class Shape { kConstant, kLinear, kCosine, kWsd };
  enum class Decay : uint8_t { kLinear, kSquareRoot, kCosine, kPower };
  Shape shape = Shape::kConstant;
  double peak = 0;
  double final = 0;              // at `steps`
  int64_t warmup = 0;            // steps from 0 to the peak
  std::optional<int64_t> steps;  // length of the whole run; beyond it the rate is unknown
  int64_t decay_steps = 0;       // wsd: length of the decay at the end
  Decay decay = Decay::kLinear;  // wsd: 1 − t, 1 − √t, (1 + cos πt)/2, 1 − tᵖ
  double decay_power = 1;        // p
  int64_t cycle_steps = 0;       // updates from one restart of the decay to the next; 0: none
  double cycle_factor = 1;       // peak of a cycle, as a share of the one before
};

// The rate without restarts, of a wsd that decays linearly or with the square root; all others are
// known to train/update_rate.hpp, so that this library, whose build id is in every key, stays what
// it is.
//
// The rate of update `step`, counted from 1. Of W warmup updates, the s-th has peak·s/W. Of D decay
// updates, the k-th is at t = k/(D + 1) of the decay, so no update has rate zero (unless `final` is
// 0), and the last one before the decay has the peak rate. Beyond the end: `final`, or the peak if
// the rate does not decay.
double rate_of_update(const LearningRateSchedule& schedule, int64_t step);

// The phase of the schedule that an update belongs to: "warmup", "constant" or "decay".
std::string phase_of_update(const LearningRateSchedule& schedule, int64_t step);

}  // namespace quench
