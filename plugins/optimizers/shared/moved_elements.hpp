// What rules do to single elements that move weights before they take a gradient.
#pragma once

#include "shared/cuda/both.hpp"

namespace quench::optimizers {

// from + factor · direction, rounded once from float64.
QUENCH_BOTH inline float moved_element(float from, double factor, float direction) {
  return static_cast<float>(from + factor * direction);
}

// g + factor · ((above − g) + (below − g)): the gradient with that of a second difference, taken
// from g before the two cancel.
QUENCH_BOTH inline float penalized_element(double factor, float above, float below,
                                           float gradient) {
  const double g = gradient;
  return static_cast<float>(g + factor * ((above - g) + (below - g)));
}

}  // namespace quench::optimizers
