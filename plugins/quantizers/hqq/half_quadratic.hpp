// The half-quadratic solver for one group of weights.
//
// It looks for the zero z that minimizes sum |w - s (rint(w / s + z) - z)|^p with p < 1, so that a
// few large errors cost less than many small ones. An auxiliary error e splits this into two steps
// with closed forms (Badri and Shaji 2023, equations 4 to 6):
//
//   e = shrink(w - v, beta)          v: the quantized weights
//   z = mean(code - (w - e) / s)     shrink(x) = sign(x) max(|x| - |x|^(p-1) / beta, 0)
//
// where beta grows by the factor kappa each time. The scale stays that of the extremes.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "shared/grid/grid.hpp"

namespace quench::quantizers {

struct HalfQuadratic {
  double exponent = 0.7;  // p
  double beta = 10;
  double kappa = 1.01;
  int64_t iterations = 20;
};

// clamp(rint(x / scale + zero), 0, max_code). Unlike a grid with an integer zero, this adds the
// zero before rounding.
QUENCH_BOTH inline double half_quadratic_code(double x, const Grid& grid, double max_code) {
  const double code = std::rint(x / grid.scale + grid.zero);
  return code < 0 ? 0 : code > max_code ? max_code : code;
}

// Moves x towards 0 by |x|^(p-1) / beta: the proximal operator of |x|^p / beta (p = 1: soft
// threshold).
QUENCH_BOTH inline double shrink(double x, double beta, double exponent) {
  const double size = std::fabs(x);
  if (size == 0) {
    return 0;
  }
  const double rest = size - std::pow(size, exponent - 1) / beta;
  return rest > 0 ? std::copysign(rest, x) : 0;
}

// The grid whose codes 0 and max_code are the extremes.
template <typename T>
QUENCH_BOTH Grid grid_between_extremes(std::span<const T> weights, double max_code) {
  T low = weights[0];
  T high = weights[0];
  for (const T weight : weights) {
    low = weight < low ? weight : low;
    high = weight > high ? weight : high;
  }
  const double range = static_cast<double>(high) - static_cast<double>(low);
  const double scale = range / max_code;
  // All values are equal: one step of that size meets the value exactly; zeros stay zero.
  const double level = std::fabs(static_cast<double>(low));
  const double step = scale > 0 ? scale : level > 0 ? level : 1;
  return {step, -static_cast<double>(low) / step};
}

// The scale, and the real-valued zero of the iteration with the least mean |error|. Stops when that
// error no longer falls. Iteration 0 is the grid of the extremes.
template <typename T>
QUENCH_BOTH Grid solve_group(std::span<const T> weights, int64_t bits,
                             const HalfQuadratic& options) {
  const double max_code = GridKind{bits, false}.max_code();
  Grid grid = grid_between_extremes(weights, max_code);
  Grid best = grid;
  if (!std::isfinite(grid.scale)) {
    return best;
  }
  const auto count = static_cast<double>(weights.size());
  double least = HUGE_VAL;
  double beta = options.beta;
  for (int64_t i = 0; i <= options.iterations; ++i) {
    double error = 0;
    double zero = 0;
    for (const T weight : weights) {
      const auto w = static_cast<double>(weight);
      const double code = half_quadratic_code(w, grid, max_code);
      const double off = w - grid.scale * (code - grid.zero);
      error += std::fabs(off);
      zero += code - (w - shrink(off, beta, options.exponent)) / grid.scale;
    }
    if (!(error < least)) {
      break;
    }
    least = error;
    best = grid;
    grid.zero = zero / count;
    beta *= options.kappa;
  }
  return best;
}

}  // namespace quench::quantizers
