// What the metrics of a manifest measure on now, and what of a run's folder was measured on
// something else: its corpus or its block was another one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/manifest_options.hpp"
#include "core/store/metric_text.hpp"

namespace quench {

// A list for CurrentTexts and run.json. Reads corpora that this machine does not know where the
// folder has values already, which they may differ from; leaves out what cannot be read, which the
// run will say.
nlohmann::json current_texts(const LoadedRun& run, RunKnowledge& knowledge);

// One line if the run's folder holds values of another text than the manifest's, else "".
std::string other_text_warning(const LoadedRun& run, const RunRecords& records,
                               const nlohmann::json& texts);

}  // namespace quench
