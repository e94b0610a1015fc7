#include "quantizers/hqq/half_quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace quench::quantizers {

namespace {

// Moves x towards 0 by |x|^(p-1) / beta: the proximal operator of |x|^p / beta (p = 1: soft
// threshold).
double shrink(double x, double beta, double exponent) {
  const double size = std::fabs(x);
  if (size == 0) {
    return 0;
  }
  const double rest = size - std::pow(size, exponent - 1) / beta;
  return rest > 0 ? std::copysign(rest, x) : 0;
}

template <typename T>
Grid grid_of_extremes(std::span<const T> weights, double max_code) {
  const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
  const double range = static_cast<double>(*high) - static_cast<double>(*low);
  const double scale = range / max_code;
  // All values are equal: one step of that size meets the value exactly; zeros stay zero.
  const double level = std::fabs(static_cast<double>(*low));
  const double step = scale > 0 ? scale : level > 0 ? level : 1;
  return {step, -static_cast<double>(*low) / step};
}

}  // namespace

template <typename T>
Grid solve_group(std::span<const T> weights, int64_t bits, const HalfQuadratic& options) {
  const double max_code = GridKind{bits, false}.max_code();
  Grid grid = grid_of_extremes(weights, max_code);
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

template Grid solve_group(std::span<const float>, int64_t, const HalfQuadratic&);
template Grid solve_group(std::span<const double>, int64_t, const HalfQuadratic&);

}  // namespace quench::quantizers
