// How a group's extremes become a grid; published tools differ.
#pragma once

#include "shared/grid/grid.hpp"

namespace quench::quantizers {

enum class GridRule {
  kWidened,    // shared/grid/grid.hpp: the range always contains 0
  kTight,      // AutoAWQ: asymmetric from the extremes as they are, symmetric with 2^(bits-1) - 1
               // steps to each side
  kCompressed  // llm-compressor: as widened, but symmetric is so for groups of one sign too
};

inline constexpr double kLeastRange = 1e-5;  // the smallest range of AutoAWQ's grids

QUENCH_BOTH inline Grid grid_of_extremes(double low, double high, GridKind kind, GridRule rule) {
  if (rule == GridRule::kWidened || (rule == GridRule::kCompressed && !kind.sym)) {
    return grid_of(low, high, kind);
  }
  const double below = std::fabs(low);
  const double above = std::fabs(high);
  const double most = below < above ? above : below;
  const double middle = (kind.max_code() + 1) / 2;
  if (rule == GridRule::kCompressed) {
    return grid_of(-most, most, kind);
  }
  if (kind.sym) {
    return {(most < kLeastRange ? kLeastRange : most) / (middle - 1), middle};
  }
  const double range = high - low < kLeastRange ? kLeastRange : high - low;
  const double scale = range / kind.max_code();
  const double zero = -std::rint(low / scale);
  const double at_least = zero < 0 ? 0 : zero;
  return {scale, kind.max_code() < at_least ? kind.max_code() : at_least};
}

}  // namespace quench::quantizers
