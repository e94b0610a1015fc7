// Integer grids: the arithmetic that turns a value into a code. It is float64 and in exactly this
// order, because a value often lies exactly between two codes (the negative extreme of a symmetric
// grid always does), and the order of roundings decides which code it gets.
//
//   scale = (xmax - xmin) / (2^bits - 1)     code  = clamp(rint(x / scale) + zero, 0, 2^bits - 1)
//   zero  = rint(-xmin / scale)              value = scale * (code - zero)
//
// where xmin <= 0 <= xmax. A symmetric grid has zero = 2^(bits-1) and spans [-a, a], where a is the
// largest magnitude. Without a negative value it spans [0, a] with the same zero, so values above
// about a/2 are clipped, like in the published tools. rint rounds half to even.
#pragma once

#include <cmath>
#include <cstdint>

#include "shared/cuda/both.hpp"

namespace quench::quantizers {

// The parameters that all grids of one layer share.
struct GridKind {
  int64_t bits;  // 2..8
  bool sym;
  double mse = 0;  // exponent of the clipped-range search (search.hpp); 0: the full range
  QUENCH_BOTH double max_code() const { return static_cast<double>((int64_t{1} << bits) - 1); }
};

struct Grid {
  double scale;  // distance between neighbouring values, > 0
  double zero;   // the code of 0, an integer in [0, max_code]
};

struct Range {
  double min;
  double max;
};

// The range of the grid for values in [low, high]. A group of zeros gets [-1, 1], and so does a
// group whose scale would be 0 because its values are subnormal.
QUENCH_BOTH inline Range range_of(double low, double high, GridKind kind) {
  double xmin = low < 0 ? low : 0;
  double xmax = high > 0 ? high : 0;
  if (kind.sym) {
    xmax = -xmin > xmax ? -xmin : xmax;
    xmin = xmin < 0 ? -xmax : xmin;
  }
  return (xmax - xmin) / kind.max_code() == 0 ? Range{-1, 1} : Range{xmin, xmax};
}

QUENCH_BOTH inline Grid grid_of(Range range, GridKind kind) {
  const double scale = (range.max - range.min) / kind.max_code();
  return {scale, kind.sym ? (kind.max_code() + 1) / 2 : std::rint(-range.min / scale)};
}
QUENCH_BOTH inline Grid grid_of(double low, double high, GridKind kind) {
  return grid_of(range_of(low, high, kind), kind);
}

// The code of `x`; NaN gets 0.
QUENCH_BOTH inline double code_of(double x, double scale, double zero, double max_code) {
  const double code = std::rint(x / scale) + zero;
  const double above = code > 0 ? code : 0;
  return above < max_code ? above : max_code;
}

}  // namespace quench::quantizers
