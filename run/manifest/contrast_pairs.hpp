// Contrasts whose cells cannot be paired: found from the manifest alone, before hours are spent.
#pragma once

#include <vector>

#include "core/config/problems.hpp"
#include "core/experiment/experiment.hpp"
#include "report/spec.hpp"

namespace quench {

// Adds a problem for each contrast of cells that will be measured of which several fit several, or
// none fits another, by the rules of the report itself (report/pairing.hpp). Says nothing of sides
// that select no cell (absent_contrasts.hpp), nor where it takes the stored bits of a quantizer
// without the parameter `bits`, which only the run knows.
void check_contrast_pairs(const ReportSpec& report, const std::vector<Experiment>& experiments,
                          Problems& problems);

}  // namespace quench
