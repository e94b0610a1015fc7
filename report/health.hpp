// What a reader should know before believing the numbers of a run.
#pragma once

#include <string>
#include <vector>

#include "core/store/run_folder.hpp"
#include "report/observation.hpp"

namespace quench {

// One sentence each; none when all went as it should. Methods say by the names of their per-layer
// figures that something did: `retries`, `dead`, `fallback`, `fallbacks`, `warning`.
std::vector<std::string> health_of(const RunRecords& run, const Observations& observations);

}  // namespace quench
