#include "run/grid/plugins_apart.hpp"

#include <fmt/format.h>

#include <set>

#include "quench/abi/kind/metric.h"
#include "quench/abi/kind/transform.h"
#include "run/manifest/check_plugins.hpp"

namespace quench {

namespace {

// The families that opened these checkpoints before, where the config decides.
std::vector<const PluginDescription*> known_families(const Experiment& experiment,
                                                     Identities& identities) {
  std::vector<const PluginDescription*> out;
  for (const CheckpointCell& cell : experiment.checkpoints) {
    if (experiment.training != nullptr || !cell.family.empty()) {
      continue;  // named
    }
    const auto known = identities.remembered(cell);
    if (known && !known->family.empty()) {
      out.push_back(&identities.family(known->family));
    }
  }
  return out;
}

// What a plugin elsewhere sees of a model on a device.
std::string note_of_copies(const PluginDescription& plugin, quench_device device) {
  const bool sees_rows = plugin.kind == QUENCH_KIND_QUANTIZER ||
                         plugin.kind == QUENCH_KIND_TRANSFORM || plugin.kind == QUENCH_KIND_METRIC;
  return sees_rows && device.type != QUENCH_DEVICE_CPU
             ? fmt::format("; it gets copies in host memory of what is on {}", device_text(device))
             : "";
}

}  // namespace

std::vector<PluginApart> plugins_apart(const std::vector<Experiment>& experiments,
                                       Identities& identities) {
  const Catalog& catalog = identities.catalog();
  std::vector<PluginApart> out;
  std::set<const PluginDescription*> seen;
  for (const Experiment& experiment : experiments) {
    for (const auto& plugins :
         {named_plugins(catalog, experiment), known_families(experiment, identities)}) {
      for (const PluginDescription* plugin : plugins) {
        const Placed placed = catalog.placed(*plugin);
        if (placed.placement == Placement::kOwn && seen.insert(plugin).second) {
          out.push_back({plugin, placed.reason + note_of_copies(*plugin, experiment.device)});
        }
      }
    }
  }
  return out;
}

}  // namespace quench
