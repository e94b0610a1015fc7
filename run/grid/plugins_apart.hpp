// Foretells which plugins of a run get a process of their own.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "run/grid/identity.hpp"

namespace quench {

struct PluginApart {
  const PluginDescription* plugin;
  std::string reason;  // and, with a model on a device, what the plugin gets of it
};

// Of all that the experiments name, and of the families that are known to open their checkpoints.
// Call it after check_plugins, which settles clashes. Loads nothing.
std::vector<PluginApart> plugins_apart(const std::vector<Experiment>& experiments,
                                       Identities& identities);

}  // namespace quench
