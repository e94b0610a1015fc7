// What a reader should know before trusting the numbers of a run.
#pragma once

#include <string>
#include <vector>

#include "core/store/run_folder.hpp"
#include "report/observation.hpp"

namespace quench {

// One sentence per problem; none if there was none. Methods report problems through per-layer
// figures with these names: `retries`, `dead`, `fallback`, `fallbacks`, `warning`.
std::vector<std::string> health_of(const RunRecords& run, const Observations& observations);

}  // namespace quench
