// Decides which plugins of an experiment share one process.
#pragma once

#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

// All plugins that the experiment names, each once.
std::vector<const PluginDescription*> named_plugins(const Catalog& catalog,
                                                    const Experiment& experiment);

// Two plugins of the experiment may need different files of one library, which the dynamic linker
// cannot provide: one of them then goes to a process of its own. Uses what probing found: loads
// nothing, and ignores plugins that the experiment does not name. Throws Error(INVALID_ARGUMENT)
// with the conflicts of plugins that the user keeps in this process, one per line.
void check_plugins(Catalog& catalog, const Experiment& experiment);

}  // namespace quench
