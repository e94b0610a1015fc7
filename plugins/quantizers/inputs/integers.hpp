// Integers of 2 to 8 bits on the grid of shared/grid/grid.hpp.
#pragma once

#include "quantizers/inputs/format.hpp"

namespace quench::quantizers {

std::unique_ptr<ActivationFormat> integers(int64_t bits, bool sym);

}  // namespace quench::quantizers
