// One tensor's update by schedule-free AdamW, in one pass.
#pragma once

#include <cstddef>

namespace quench::optimizers {

// The numbers that all elements share in a step.
struct ScheduleFreeStep {
  float gradient_scale;
  float beta2;
  float second;        // 1 − β₂
  float inverse_root;  // 1 / √(1 − β₂ᵗ)
  float epsilon;
  float lr;
  float decay;      // times y; subtracted from both sequences
  float towards_z;  // c: weight of this step's z in the average
  float y_rate;     // lr·(1 − β₁·(1 − c)): factor of the update of y
};

// Updates y (the stepped weights), z and v with g, the gradient at y.
void schedule_free_update(const ScheduleFreeStep& step, float* y, const float* gradient, float* z,
                          float* v, size_t count);

// x = y + (1 − 1/β₁)(z − y), the average.
void schedule_free_average(double beta1, const float* y, const float* z, float* x, size_t count);

}  // namespace quench::optimizers
