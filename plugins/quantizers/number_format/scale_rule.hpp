// `mse` of a quantizer whose weights have a number format: 0, or 2 for the least squared error.
#pragma once

#include "shared/grid/grid.hpp"
#include "shared/number_formats/scale_search.hpp"

namespace quench::quantizers {

inline number_formats::ScaleRule scale_rule_of(double mse) {
  return mse > 0 ? number_formats::ScaleRule::kLeastSquares : number_formats::ScaleRule::kOfFormat;
}
inline number_formats::ScaleRule scale_rule_of(const GridKind& kind) {
  return scale_rule_of(kind.mse);
}

}  // namespace quench::quantizers
