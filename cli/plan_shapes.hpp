// Shows what a manifest on published models costs, told from their shapes.
#pragma once

#include "run/grid/shape_costs.hpp"

namespace quench {

// Three lines, as they stand at the head of a manifest in configs/experiments.
void print_shape_costs(const ShapeCosts& costs);
void answer_shape_costs(const ShapeCosts& costs);

}  // namespace quench
