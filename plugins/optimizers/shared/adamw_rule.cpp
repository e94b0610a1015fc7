#include "optimizers/shared/adamw_rule.hpp"

#include "quench/kit/multiversion.hpp"

namespace quench::optimizers {

AdamWStep adamw_step(uint64_t step, double lr, double decay, double beta1, double beta2,
                     double epsilon, double gradient_scale) {
  const auto t = static_cast<double>(step);
  return {
      static_cast<float>(gradient_scale), static_cast<float>(1 - decay),
      static_cast<float>(1 - beta1),      static_cast<float>(beta2),
      static_cast<float>(1 - beta2),      static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t))),
      static_cast<float>(epsilon),        static_cast<float>(lr / (1 - std::pow(beta1, t)))};
}

QUENCH_MULTIVERSION
void adamw_update(const AdamWStep& step, float* __restrict weight, const float* __restrict gradient,
                  float* __restrict m, float* __restrict v, size_t count) {
  const AdamWStep s = step;
  for (size_t i = 0; i < count; ++i) {
    adamw_element(s, gradient[i], weight[i], m[i], v[i]);
  }
}

}  // namespace quench::optimizers
