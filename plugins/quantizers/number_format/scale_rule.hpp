// `mse` of a quantizer whose weights have a number format: 0, or 2 for the least squared error.
#pragma once

#include "shared/grid/grid.hpp"
#include "shared/number_formats/scale_chooser.hpp"

namespace quench::quantizers {

inline number_formats::ScaleRule scale_rule_of(const GridKind& kind) {
  return kind.mse > 0 ? number_formats::ScaleRule::kLeastSquares
                      : number_formats::ScaleRule::kOfFormat;
}

}  // namespace quench::quantizers
