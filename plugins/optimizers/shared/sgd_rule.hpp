// One tensor's update by gradient descent with momentum, in one pass.
#pragma once

#include <cstddef>

#include "shared/cuda/both.hpp"

namespace quench::optimizers {

// The numbers that all elements share in a step.
struct SgdStep {
  float gradient_scale;
  float keep;  // 1 − decay: share of the weight that is kept
  float momentum;
  float nesterov;  // 1 or 0
  float lr;
};

// m ← momentum·m + g;  w ← (1 − decay) w − lr·(m, or g + momentum·m with Nesterov)
QUENCH_BOTH inline void sgd_element(const SgdStep& s, float gradient, float& weight,
                                    float& momentum) {
  const float plain = s.nesterov;                          // share of g in the direction
  const float kept = s.nesterov != 0 ? s.momentum : 1.0F;  // share of the momentum
  const float g = s.gradient_scale * gradient;
  const float m = s.momentum * momentum + g;
  momentum = m;
  weight = s.keep * weight - s.lr * (plain * g + kept * m);
}
void sgd_update(const SgdStep& step, float* weight, const float* gradient, float* momentum,
                size_t count);

// The two halves of it, for rules that change the direction in between: m ← kept·m + scale·g, where
// the direction overwrites g; then w ← keep·w − rate·direction.
struct MomentumStep {
  float scale;  // of the gradient
  float kept;   // share of the momentum
  bool nesterov;
};
QUENCH_BOTH inline void momentum_element(const MomentumStep& s, float& gradient, float& momentum) {
  const float plain = s.nesterov ? 1.0F : 0.0F;
  const float of_momentum = s.nesterov ? s.kept : 1.0F;
  const float g = s.scale * gradient;
  const float m = s.kept * momentum + g;
  momentum = m;
  gradient = plain * g + of_momentum * m;
}
QUENCH_BOTH inline void direction_element(float keep, float rate, float direction, float& weight) {
  weight = keep * weight - rate * direction;
}
void momentum_direction(const MomentumStep& step, float* gradient, float* momentum, size_t count);
void take_direction(float keep, float rate, float* weight, const float* direction, size_t count);

}  // namespace quench::optimizers
