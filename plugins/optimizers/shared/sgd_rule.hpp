// One tensor's update by gradient descent with momentum, in one pass.
#pragma once

#include <cstddef>

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
void sgd_update(const SgdStep& step, float* weight, const float* gradient, float* momentum,
                size_t count);

// The two halves of it, for rules that change the direction in between: m ← kept·m + scale·g, where
// the direction overwrites g; then w ← keep·w − rate·direction.
void momentum_direction(float scale, float kept, bool nesterov, float* gradient, float* momentum,
                        size_t count);
void take_direction(float keep, float rate, float* weight, const float* direction, size_t count);

}  // namespace quench::optimizers
