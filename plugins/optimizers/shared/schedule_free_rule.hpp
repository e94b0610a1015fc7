// One tensor's update by schedule-free AdamW, in one pass.
#pragma once

#include <cmath>
#include <cstddef>

#include "shared/cuda/both.hpp"

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
QUENCH_BOTH inline void schedule_free_element(const ScheduleFreeStep& s, float gradient, float& y,
                                              float& z, float& v) {
  const float decay_of_y = s.decay * (s.y_rate / (s.lr > 0 ? s.lr : 1.0F));
  const float g = s.gradient_scale * gradient;
  const float second = s.beta2 * v + s.second * (g * g);
  const float u = g / (std::sqrt(second) * s.inverse_root + s.epsilon);
  const float before = y;
  v = second;
  y = before + s.towards_z * (z - before) - s.y_rate * u - decay_of_y * before;
  z = z - s.lr * u - s.decay * before;
}
void schedule_free_update(const ScheduleFreeStep& step, float* y, const float* gradient, float* z,
                          float* v, size_t count);

// x = y + (1 − 1/β₁)(z − y), the average; `share` is 1 − 1/β₁.
QUENCH_BOTH inline float schedule_free_average_element(double share, double y, double z) {
  return static_cast<float>(y + share * (z - y));
}
void schedule_free_average(double beta1, const float* y, const float* z, float* x, size_t count);

}  // namespace quench::optimizers
