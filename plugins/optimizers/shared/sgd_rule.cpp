#include "optimizers/shared/sgd_rule.hpp"

#include "quench/kit/multiversion.hpp"

namespace quench::optimizers {

QUENCH_MULTIVERSION
void sgd_update(const SgdStep& step, float* __restrict weight, const float* __restrict gradient,
                float* __restrict momentum, size_t count) {
  const SgdStep s = step;
  for (size_t i = 0; i < count; ++i) {
    sgd_element(s, gradient[i], weight[i], momentum[i]);
  }
}

QUENCH_MULTIVERSION
void momentum_direction(const MomentumStep& step, float* __restrict gradient,
                        float* __restrict momentum, size_t count) {
  const MomentumStep s = step;
  for (size_t i = 0; i < count; ++i) {
    momentum_element(s, gradient[i], momentum[i]);
  }
}

QUENCH_MULTIVERSION
void take_direction(float keep, float rate, float* __restrict weight,
                    const float* __restrict direction, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    direction_element(keep, rate, direction[i], weight[i]);
  }
}

}  // namespace quench::optimizers
