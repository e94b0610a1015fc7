// What the kernels of optimizers do to element i of a tensor: the arithmetic is that of the loops
// for processors, compiled from the same functions.
#pragma once

#include <cstdint>

#include "optimizers/shared/adamw_rule.hpp"
#include "optimizers/shared/moved_elements.hpp"
#include "optimizers/shared/schedule_free_rule.hpp"
#include "optimizers/shared/sgd_rule.hpp"

namespace quench::optimizers {

struct AdamWElements {
  AdamWStep step;
  float* weight;
  const float* gradient;
  float* m;
  float* v;
  QUENCH_BOTH void operator()(int64_t i) const {
    adamw_element(step, gradient[i], weight[i], m[i], v[i]);
  }
};

struct SgdElements {
  SgdStep step;
  float* weight;
  const float* gradient;
  float* momentum;
  QUENCH_BOTH void operator()(int64_t i) const {
    sgd_element(step, gradient[i], weight[i], momentum[i]);
  }
};

struct MomentumElements {
  MomentumStep step;
  float* gradient;
  float* momentum;
  QUENCH_BOTH void operator()(int64_t i) const { momentum_element(step, gradient[i], momentum[i]); }
};

struct DirectionElements {
  float keep;
  float rate;
  float* weight;
  const float* direction;
  QUENCH_BOTH void operator()(int64_t i) const {
    direction_element(keep, rate, direction[i], weight[i]);
  }
};

struct ScheduleFreeElements {
  ScheduleFreeStep step;
  float* y;
  const float* gradient;
  float* z;
  float* v;
  QUENCH_BOTH void operator()(int64_t i) const {
    schedule_free_element(step, gradient[i], y[i], z[i], v[i]);
  }
};

struct ScheduleFreeAverageElements {
  double share;  // 1 − 1/β₁
  const float* y;
  const float* z;
  float* x;
  QUENCH_BOTH void operator()(int64_t i) const {
    x[i] = schedule_free_average_element(share, y[i], z[i]);
  }
};

// to = from + factor · direction, rounded once from float64.
struct MovedElements {
  const float* from;
  double factor;
  const float* direction;
  float* to;
  QUENCH_BOTH void operator()(int64_t i) const {
    to[i] = moved_element(from[i], factor, direction[i]);
  }
};

struct PenalizedElements {
  double factor;
  const float* above;
  const float* below;
  float* gradient;
  QUENCH_BOTH void operator()(int64_t i) const {
    gradient[i] = penalized_element(factor, above[i], below[i], gradient[i]);
  }
};

}  // namespace quench::optimizers
