// The range that a group of keys or values is rounded in, compiled for processors and for GPUs.
#pragma once

#include <algorithm>

#include "shared/cuda/both.hpp"
#include "shared/grid/grid.hpp"

namespace quench::quantizers {

struct CacheRange {
  bool takes_extremes;  // else zero is in it
  double clip;

  QUENCH_BOTH Range of(double least, double largest) const {
    return takes_extremes ? Range{least, largest}
                          : Range{std::min(least, 0.0) * clip, std::max(largest, 0.0) * clip};
  }
};

}  // namespace quench::quantizers
