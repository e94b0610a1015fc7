// The learning rate of a training, as one of the usual shapes.
#pragma once

#include <cstdint>
#include <optional>

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

}  // namespace quench
