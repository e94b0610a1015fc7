#include "optimizers/shared/sgd_rule.hpp"

#include "quench/kit/multiversion.hpp"

namespace quench::optimizers {

QUENCH_MULTIVERSION
void sgd_update(const SgdStep& step, float* __restrict weight, const float* __restrict gradient,
                float* __restrict momentum, size_t count) {
  const SgdStep s = step;
  const float plain = s.nesterov;                          // share of g in the direction
  const float kept = s.nesterov != 0 ? s.momentum : 1.0F;  // share of the momentum
  for (size_t i = 0; i < count; ++i) {
    const float g = s.gradient_scale * gradient[i];
    const float m = s.momentum * momentum[i] + g;
    momentum[i] = m;
    weight[i] = s.keep * weight[i] - s.lr * (plain * g + kept * m);
  }
}

QUENCH_MULTIVERSION
void momentum_direction(float scale, float kept, bool nesterov, float* __restrict gradient,
                        float* __restrict momentum, size_t count) {
  const float plain = nesterov ? 1.0F : 0.0F;
  const float of_momentum = nesterov ? kept : 1.0F;
  for (size_t i = 0; i < count; ++i) {
    const float g = scale * gradient[i];
    const float m = kept * momentum[i] + g;
    momentum[i] = m;
    gradient[i] = plain * g + of_momentum * m;
  }
}

QUENCH_MULTIVERSION
void take_direction(float keep, float rate, float* __restrict weight,
                    const float* __restrict direction, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    weight[i] = keep * weight[i] - rate * direction[i];
  }
}

}  // namespace quench::optimizers
