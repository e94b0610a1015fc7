// Whether the plugins of an experiment can live in one process.
#pragma once

#include "core/experiment/experiment.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

// Of the plugins that the experiment names, any two may need different files of one library, which
// the dynamic linker cannot give them; and some model family has to go with all of them. Told from
// what probing found: nothing is loaded, and what else lies on the search path counts for nothing.
// Throws Error(INVALID_ARGUMENT) with all conflicts, one a line.
void check_plugins(const Catalog& catalog, const Experiment& experiment);

}  // namespace quench
