#include "run/manifest/check_plugins.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/pass/judge.hpp"
#include "train/recipe.hpp"

namespace quench {

namespace {

using Plugins = std::vector<const PluginDescription*>;

void add(Plugins& plugins, const PluginDescription* plugin) {
  if (plugin != nullptr && std::find(plugins.begin(), plugins.end(), plugin) == plugins.end()) {
    plugins.push_back(plugin);
  }
}

// The families of which one will open a checkpoint whose config decides.
Plugins possible_families(const Catalog& catalog, const Experiment& experiment) {
  const bool open = experiment.training == nullptr &&
                    std::any_of(experiment.checkpoints.begin(), experiment.checkpoints.end(),
                                [](const CheckpointCell& cell) { return cell.family.empty(); });
  return open ? catalog.of_kind(QUENCH_KIND_MODEL) : Plugins();
}

}  // namespace

std::vector<const PluginDescription*> named_plugins(const Catalog& catalog,
                                                    const Experiment& experiment) {
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
    add(out, experiment.training->recipe.family);
    return out;
  }
  for (const CheckpointCell& cell : experiment.checkpoints) {
    add(out, cell.family.empty() ? nullptr : catalog.find(QUENCH_KIND_MODEL, cell.family));
  }
  return out;
}

void check_plugins(Catalog& catalog, const Experiment& experiment) {
  const std::vector<std::string> refused = catalog.settle_together(
      named_plugins(catalog, experiment), possible_families(catalog, experiment));
  if (!refused.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(refused, "\n"));
  }
}

}  // namespace quench
