// Checks whether the plugins of an experiment can share one process.
#pragma once

#include "core/experiment/experiment.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

// Two plugins of the experiment may need different files of one library, which the dynamic linker
// cannot provide, and some model family must be compatible with all of them. Uses what probing
// found: loads nothing, and ignores plugins that the experiment does not name. Throws
// Error(INVALID_ARGUMENT) with all conflicts, one per line.
void check_plugins(const Catalog& catalog, const Experiment& experiment);

}  // namespace quench
