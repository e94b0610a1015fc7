// What a manifest asks a report for, before hours are spent on it. The report is in Python
// (python/quench/report) and knows its own rules; here is what it is asked, and where its answer
// belongs in the manifest.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/config/problems.hpp"
#include "core/inputs/experiment/experiment.hpp"

namespace quench {

// Answers {"report": the section, "experiments": planned_experiments() or null} with {"faults": [],
// "warnings": []} of {"path": names and indices below the section, "of_key": whether it is about
// the name at the path's end, "text"}; with null if Python cannot be asked.
using AskReport = std::function<nlohmann::json(const nlohmann::json& question)>;

// The cells that the experiments will measure, as records describe them: of each experiment its
// checkpoints, and the weights, quantizers and metrics that make the cells.
nlohmann::json planned_experiments(const std::vector<Experiment>& experiments);

// Asks about the manifest's section, if it has one. Adds the faults to `problems` and returns the
// warnings, each with its place. With problems already only the section itself is looked at.
std::vector<std::string> check_report(const YamlNode& section,
                                      const std::vector<Experiment>& experiments,
                                      const AskReport& ask, Problems& problems);

}  // namespace quench
