// One tensor's update by AdamW (Loshchilov and Hutter, "Decoupled Weight Decay Regularization",
// ICLR 2019, algorithm 2), in one pass.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "shared/cuda/both.hpp"

namespace quench::optimizers {

// The numbers that all elements share in a step.
struct AdamWStep {
  float gradient_scale;
  float keep;   // 1 − decay: share of the weight that is kept
  float first;  // 1 − β₁
  float beta2;
  float second;        // 1 − β₂
  float inverse_root;  // 1 / √(1 − β₂ᵗ)
  float epsilon;
  float step;  // lr / (1 − β₁ᵗ)
};

AdamWStep adamw_step(uint64_t step, double lr, double decay, double beta1, double beta2,
                     double epsilon, double gradient_scale);

// m ← m + (1 − β₁)(g − m);  v ← β₂ v + (1 − β₂) g²;
// w ← (1 − decay) w − lr/(1 − β₁ᵗ) · m / (√v / √(1 − β₂ᵗ) + ε)
QUENCH_BOTH inline void adamw_element(const AdamWStep& s, float gradient, float& weight, float& m,
                                      float& v) {
  const float g = s.gradient_scale * gradient;
  const float first = m + s.first * (g - m);
  const float second = s.beta2 * v + s.second * (g * g);
  m = first;
  v = second;
  weight = s.keep * weight - s.step * (first / (std::sqrt(second) * s.inverse_root + s.epsilon));
}

void adamw_update(const AdamWStep& step, float* weight, const float* gradient, float* m, float* v,
                  size_t count);

}  // namespace quench::optimizers
