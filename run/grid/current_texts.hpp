// The texts that the metrics of a manifest measure on now, and the values in a run's folder that
// were measured on another corpus or block.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/store/metric_text.hpp"
#include "run/grid/grid.hpp"

namespace quench {

// A list for CurrentTexts and run.json. Reads corpora that this machine does not know where the
// folder has values already, which they may differ from; leaves out what cannot be read, which the
// run will say.
nlohmann::json current_texts(const std::vector<Experiment>& experiments, RunKnowledge& knowledge);

// One line if the run's folder holds values of another text than the manifest's, else "".
std::string other_text_warning(const std::vector<Experiment>& experiments,
                               const std::filesystem::path& folder, const RunRecords& records,
                               const nlohmann::json& texts);

}  // namespace quench
