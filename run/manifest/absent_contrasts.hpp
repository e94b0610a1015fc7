// Contrasts that name what a manifest does not measure: they would be found to be empty only after
// the run.
#pragma once

#include <string>
#include <vector>

#include "core/config/problems.hpp"
#include "core/experiment/experiment.hpp"
#include "report/spec.hpp"

namespace quench {

// One line, with its place, for each side of a contrast whose quantizer, averaging or branch is
// none of the experiments'. They are warnings: a run's folder may hold further records.
std::vector<std::string> absent_contrasts(const ReportSpec& report,
                                          const std::vector<Experiment>& experiments);

// Adds a problem for each side that names a label without the values of its sweep where several
// labels have it: "mine" where there are "mine bits=3" and "mine bits=4".
void check_contrast_labels(const ReportSpec& report, const std::vector<Experiment>& experiments,
                           Problems& problems);

}  // namespace quench
