// The grid of a group whose range is tuned, and the derivatives of a rounded group (Cheng et al.
// 2023, equations 2 to 5). For a group of weights w with extremes low <= 0 <= high:
//
//   s = (b high - a low) / (2^bits - 1)          z = rint(-a low / s)
//   code = clamp(rint(w / s + v) + z, 0, 2^bits - 1)          value = s (code - z)
//
// v is an offset for each weight, a and b are factors on the group's range. A symmetric grid has
// z = 2^(bits-1), and s from the larger of -a low and b high on both sides. With v = 0 and a = b =
// 1 all of it is rounding to nearest (shared/grid/grid.hpp), to the bit.
//
// Derivatives pass straight through rint, and through the clamp where it changes nothing.
#pragma once

#include <cmath>
#include <cstdint>

#include "shared/grid/grid.hpp"

namespace quench::quantizers {

struct TunedGrid {
  Grid grid;
  double low_slope;   // ds/da
  double high_slope;  // ds/db
  double low;         // low, of which z is made; 0 where z is known
  double least;       // a low, likewise
};

inline TunedGrid tuned_grid(double low, double high, double low_factor, double high_factor,
                            GridKind kind) {
  const double xmin = low_factor * low;
  const double xmax = high_factor * high;
  TunedGrid made{grid_of(range_of(xmin, xmax, kind), kind), 0, 0, 0, 0};
  const double largest = -xmin > xmax ? -xmin : xmax;
  const double width = !kind.sym ? xmax - xmin : xmin < 0 ? 2 * largest : largest;
  if (width / kind.max_code() == 0) {
    return made;  // the grid of [-1, 1], on which no range has any influence
  }
  if (!kind.sym) {
    made.low_slope = -low / kind.max_code();
    made.high_slope = high / kind.max_code();
    made.low = low;
    made.least = xmin;
    return made;
  }
  const double sides = xmin < 0 ? 2 : 1;
  made.low_slope = xmin < 0 && -xmin >= xmax ? -sides * low / kind.max_code() : 0;
  made.high_slope = xmax >= -xmin ? sides * high / kind.max_code() : 0;
  return made;
}

// The code of `x` with offset `v`; inside the grid or clamped.
struct OffsetCode {
  double code;
  bool inside;
};
inline OffsetCode offset_code(double x, double v, const Grid& grid, double max_code) {
  const double code = std::rint(x / grid.scale + v) + grid.zero;
  const bool inside = code >= 0 && code <= max_code;
  return {inside ? code : code > 0 ? max_code : 0, inside};
}

// Derivatives of a loss with respect to a group's factors.
struct FactorGradient {
  double low;
  double high;
};

// `gradient`: dloss/dvalue of `count` weights with offsets. Calls by_offset(i, dloss/dv[i]).
template <typename T, typename ByOffset>
FactorGradient backward(const T* weights, const T* offsets, const T* gradient, int64_t count,
                        const TunedGrid& tuned, double max_code, ByOffset&& by_offset) {
  const double scale = tuned.grid.scale;
  const double zero = tuned.grid.zero;
  double by_scale = 0;
  double outside = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = weights[i];
    const double g = gradient[i];
    const OffsetCode made = offset_code(x, offsets[i], tuned.grid, max_code);
    by_scale += g * (made.code - zero - (made.inside ? x : tuned.least) / scale);
    outside += made.inside ? 0 : g;
    by_offset(i, made.inside ? g * scale : 0);
  }
  return {by_scale * tuned.low_slope + outside * tuned.low, by_scale * tuned.high_slope};
}

}  // namespace quench::quantizers
