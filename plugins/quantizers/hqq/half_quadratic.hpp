// The half-quadratic solver for one group of weights.
//
// Wanted: the zero z that makes sum |w - s (rint(w / s + z) - z)|^p least, p < 1, so that a few
// large errors cost less than many small ones. An auxiliary error e splits it into two steps that
// have closed forms (Badri and Shaji 2023, equations 4 to 6):
//
//   e = shrink(w - v, beta)    v the quantized weights, shrink(x) = sign(x) max(|x| - |x|^(p-1) /
//   beta, 0) z = mean(code - (w - e) / s)
//
// with beta growing by kappa each time. The scale stays that of the extremes.
#pragma once

#include <cstdint>
#include <span>

#include "quantizers/grid/grid.hpp"

namespace quench::quantizers {

struct HalfQuadratic {
  double exponent = 0.7;  // p
  double beta = 10;
  double kappa = 1.01;
  int64_t iterations = 20;
};

// The scale, and the zero (no integer) of the iteration with the least mean |error|; stops as soon
// as that does not fall any more. The grid of the extremes counts as iteration 0.
template <typename T>
Grid solve_group(std::span<const T> weights, int64_t bits, const HalfQuadratic& options);

extern template Grid solve_group(std::span<const float>, int64_t, const HalfQuadratic&);
extern template Grid solve_group(std::span<const double>, int64_t, const HalfQuadratic&);

// clamp(rint(x / scale + zero), 0, max_code): unlike on a grid with an integer zero, the zero is
// inside the rounding.
inline double half_quadratic_code(double x, const Grid& grid, double max_code) {
  const double code = std::rint(x / grid.scale + grid.zero);
  return code < 0 ? 0 : code > max_code ? max_code : code;
}

}  // namespace quench::quantizers
