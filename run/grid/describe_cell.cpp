#include "run/grid/describe_cell.hpp"

#include "core/base/json/or_null.hpp"
#include "core/base/json/set_parameters.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

// For plugins that did not come with the program: where it ran, and of one in Python by which
// interpreter. Values do not depend on it, so no key has it; it helps to find a fault. `of`:
// "metric_" where the object is about more.
void add_process(const Catalog& catalog, const PluginDescription& plugin, const std::string& of,
                 nlohmann::json& to) {
  if (const Placed placed = catalog.placed(plugin); !placed.reason.empty()) {
    to[of + "process"] = to_text(placed.placement);
  }
  if (!plugin.interpreter.empty()) {
    to[of + "interpreter"] = plugin.interpreter.string();
  }
}

nlohmann::json averaging_of(const Catalog& catalog, const Experiment& experiment,
                            const WeightsCell& weights) {
  nlohmann::json out = describe_averaging(experiment, weights);
  if (weights.averaging) {
    add_process(catalog, *experiment.averagings[*weights.averaging].plugin, "", out);
  }
  return out;
}

}  // namespace

nlohmann::json describe_quantizer(const Catalog& catalog, const Experiment& experiment,
                                  const Variant& variant) {
  if (!variant.quantizer) {
    return nullptr;
  }
  const QuantizerCell& cell = experiment.quantizers[*variant.quantizer];
  nlohmann::json out = {{"id", cell.plugin->id},
                        {"params", set_parameters(cell.parameters)},
                        {"label", cell.label},
                        {"version", cell.plugin->version},
                        {"sha256", cell.plugin->sha256},
                        {"calibration", cell.calibration ? nlohmann::json(cell.calibration->name)
                                                         : nlohmann::json(nullptr)}};
  add_process(catalog, *cell.plugin, "", out);
  if (cell.store_as != nullptr) {
    out["stored"] = cell.store_as->id;
  }
  if (cell.transform) {
    out["transform"] = {{"id", cell.transform->plugin->id},
                        {"params", set_parameters(cell.transform->parameters)},
                        {"version", cell.transform->plugin->version},
                        {"sha256", cell.transform->plugin->sha256}};
    add_process(catalog, *cell.transform->plugin, "", out["transform"]);
  }
  return out;
}

void describe(const CellDescription& description, Record& record) {
  const Experiment& experiment = description.experiment;
  const Cell& cell = description.cell;
  const WeightsCell& weights = experiment.weights[cell.weights];
  record.key = cell.key;
  record.parts = description.parts;
  record.label = experiment.metrics[cell.metric].label;
  record.checkpoint = describe_checkpoint(experiment, experiment.checkpoints[weights.checkpoint],
                                          description.commit);
  if (!description.stored.is_null()) {
    record.checkpoint["stored"] = description.stored;
  }
  if (!description.warnings.empty()) {
    record.checkpoint["warnings"] = description.warnings;
  }
  record.averaging = averaging_of(description.catalog, experiment, weights);
  record.quantizer = description.quantizer;
  record.draw = nullptr;
  record.jitter = nullptr;
  if (cell.variant.quantizer && experiment.quantizers[*cell.variant.quantizer].calibration) {
    record.draw = cell.variant.draw;
    record.jitter = cell.variant.jitter;
  }
  record.job = experiment.job;
  record.environment["quench"] = kVersion;
  record.environment["family"] = or_null(description.family);
  if (const PluginDescription* family =
          description.catalog.find(QUENCH_KIND_MODEL, description.family)) {
    add_process(description.catalog, *family, "family_", record.environment);
  }
  add_process(description.catalog, *experiment.metrics[cell.metric].plugin, "metric_",
              record.environment);
  record.environment.update(machine_of(experiment));
  record.environment["seed"] = experiment.seed;
  record.environment["threads"] = HostServices::instance().threads();
  if (!experiment.point.is_null()) {
    record.environment["sweep"] = experiment.point;
  }
  if (description.parts.is_object()) {
    record.environment.update(description.parts.at("environment"));
  }
}

}  // namespace quench
