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

// The scale, and the real-valued zero of the iteration with the least mean |error|. Stops when that
// error no longer falls. Iteration 0 is the grid of the extremes.
template <typename T>
Grid solve_group(std::span<const T> weights, int64_t bits, const HalfQuadratic& options);

extern template Grid solve_group(std::span<const float>, int64_t, const HalfQuadratic&);
extern template Grid solve_group(std::span<const double>, int64_t, const HalfQuadratic&);

// clamp(rint(x / scale + zero), 0, max_code). Unlike a grid with an integer zero, this adds the
// zero before rounding.
inline double half_quadratic_code(double x, const Grid& grid, double max_code) {
  const double code = std::rint(x / grid.scale + grid.zero);
  return code < 0 ? 0 : code > max_code ? max_code : code;
}

}  // namespace quench::quantizers
