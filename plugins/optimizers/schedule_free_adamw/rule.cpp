#include "optimizers/schedule_free_adamw/rule.hpp"

#include <cmath>

#include "quench/kit/multiversion.hpp"

namespace quench::optimizers {

QUENCH_MULTIVERSION
void schedule_free_update(const ScheduleFreeStep& step, float* __restrict y,
                          const float* __restrict gradient, float* __restrict z,
                          float* __restrict v, size_t count) {
  const ScheduleFreeStep s = step;
  const float decay_of_y = s.decay * (s.y_rate / (s.lr > 0 ? s.lr : 1.0F));
  for (size_t i = 0; i < count; ++i) {
    const float g = s.gradient_scale * gradient[i];
    const float second = s.beta2 * v[i] + s.second * (g * g);
    const float u = g / (std::sqrt(second) * s.inverse_root + s.epsilon);
    const float before = y[i];
    v[i] = second;
    y[i] = before + s.towards_z * (z[i] - before) - s.y_rate * u - decay_of_y * before;
    z[i] = z[i] - s.lr * u - s.decay * before;
  }
}

QUENCH_MULTIVERSION
void schedule_free_average(double beta1, const float* __restrict y, const float* __restrict z,
                           float* __restrict x, size_t count) {
  const double share = 1 - 1 / beta1;
  for (size_t i = 0; i < count; ++i) {
    const double stepped = y[i];
    x[i] = static_cast<float>(stepped + share * (static_cast<double>(z[i]) - stepped));
  }
}

}  // namespace quench::optimizers
