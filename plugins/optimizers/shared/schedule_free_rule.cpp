#include "optimizers/shared/schedule_free_rule.hpp"

#include "quench/kit/multiversion.hpp"

namespace quench::optimizers {

QUENCH_MULTIVERSION
void schedule_free_update(const ScheduleFreeStep& step, float* __restrict y,
                          const float* __restrict gradient, float* __restrict z,
                          float* __restrict v, size_t count) {
  const ScheduleFreeStep s = step;
  for (size_t i = 0; i < count; ++i) {
    schedule_free_element(s, gradient[i], y[i], z[i], v[i]);
  }
}

QUENCH_MULTIVERSION
void schedule_free_average(double beta1, const float* __restrict y, const float* __restrict z,
                           float* __restrict x, size_t count) {
  const double share = 1 - 1 / beta1;
  for (size_t i = 0; i < count; ++i) {
    x[i] = schedule_free_average_element(share, y[i], z[i]);
  }
}

}  // namespace quench::optimizers
