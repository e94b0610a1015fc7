#include "run/manifest/check_plugins.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/pass/judge.hpp"
#include "core/plugin/links.hpp"
#include "train/recipe.hpp"

namespace quench {

namespace {

using Plugins = std::vector<const PluginDescription*>;

void add(Plugins& plugins, const PluginDescription* plugin) {
  if (plugin != nullptr && std::find(plugins.begin(), plugins.end(), plugin) == plugins.end()) {
    plugins.push_back(plugin);
  }
}

// All plugins but the model families.
Plugins named_plugins(const Catalog& catalog, const Experiment& experiment) {
  Plugins out;
  for (const QuantizerCell& cell : experiment.quantizers) {
    add(out, cell.plugin);
    add(out, cell.store_as);
    add(out, cell.transform ? cell.transform->plugin : nullptr);
    add(out, cell.calibration ? cell.calibration->corpus.plugin : nullptr);
    add(out,
        cell.calibration && !measures_layer_errors(*cell.plugin) ? judge_of(catalog) : nullptr);
  }
  for (const MetricCell& cell : experiment.metrics) {
    add(out, cell.plugin);
    for (const auto& corpus : cell.corpora) {
      add(out, corpus.second.plugin);
    }
  }
  for (const AveragingCell& cell : experiment.averagings) {
    add(out, cell.plugin);
  }
  if (experiment.training != nullptr) {
    add(out, experiment.training->recipe.optimizer);
    add(out, experiment.training->recipe.corpus.plugin);
  }
  return out;
}

// Adds the families that the experiment names to `named`; if a config decides, adds the families
// that it may select to `possible`.
void add_families(const Catalog& catalog, const Experiment& experiment, Plugins& named,
                  Plugins& possible) {
  if (experiment.training != nullptr) {
    add(named, experiment.training->recipe.family);
    return;
  }
  for (const CheckpointCell& cell : experiment.checkpoints) {
    if (!cell.family.empty()) {
      add(named, catalog.find(QUENCH_KIND_MODEL, cell.family));
    } else if (possible.empty()) {
      possible = catalog.of_kind(QUENCH_KIND_MODEL);
    }
  }
}

}  // namespace

void check_plugins(const Catalog& catalog, const Experiment& experiment) {
  Plugins named = named_plugins(catalog, experiment);
  Plugins possible;
  add_families(catalog, experiment, named, possible);
  const std::vector<std::string> conflicts = companion_conflicts(named, possible);
  if (!conflicts.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(conflicts, "\n"));
  }
}

}  // namespace quench
