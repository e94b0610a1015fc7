// The result of a run in sentences that a reader sees first.
#pragma once

#include <string>
#include <vector>

#include "report/contrast.hpp"
#include "report/observation.hpp"

namespace quench {

// One sentence per row of the contrasts, in their order, and what could not be compared; without
// contrasts, one of what quantization costs at the last checkpoint. At the end what a single
// training run cannot say. Empty if no loss has a float loss beside it.
std::vector<std::string> findings_of(const std::vector<Contrast>& contrasts,
                                     const std::vector<Observation>& observations);

}  // namespace quench
