// The result of a run in sentences that a reader sees first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/contrast.hpp"
#include "report/observation.hpp"

namespace quench {

// The last finding where a single training run cannot say more.
inline constexpr std::string_view kOneTrainingRun =
    "One training run: the intervals cover other text and other calibration data, not another "
    "seed.";

// One sentence per row of the contrasts: first those that are decided with all comparisons at once,
// then the counts of each contrast with several rows, then the other rows; and what could not be
// compared. Without contrasts, one of what quantization costs at the last checkpoint. At the end
// what a single training run cannot say. Empty if no loss has a float loss beside it.
std::vector<std::string> findings_of(const std::vector<Contrast>& contrasts,
                                     const std::vector<Observation>& observations);

}  // namespace quench
