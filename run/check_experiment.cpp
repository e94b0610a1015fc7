#include "run/check_experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "core/base/io/look.hpp"
#include "core/error.hpp"
#include "core/hub/environment.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/inputs/weights/export_weights.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"
#include "core/plugin/handles/transform_handle.hpp"
#include "core/plugin/services/devices.hpp"
#include "core/plugin/services/heard_warnings.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/fingerprints.hpp"
#include "run/checks.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/described_model.hpp"
#include "run/manifest/module_rules.hpp"
#include "train/recipe.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Returns whether all models could be asked.
bool check_fits(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                MetricInstances& metrics, Checks& checks) {
  std::optional<DescribedModels> described;
  const auto for_each_model = [&](auto check) {
    if (!described) {
      described = describe_models(catalog, experiment, hub);
    }
    for (const DescribedModel& each : described->models) {
      check(each.model);
    }
  };
  for (const MetricCell& cell : experiment.metrics) {
    checks.attempt(cell.where, [&] {
      checks.left_to_cells({QUENCH_INVALID_ARGUMENT}, [&] {
        if (metrics.checks_fit(cell, hub)) {
          for_each_model([&](const ModelHandle& model) { metrics.check_fit(cell, hub, model); });
        }
      });
    });
  }
  for (const QuantizerCell& cell : experiment.quantizers) {
    if (cell.calibration && cell.calibration->length > 0) {
      checks.attempt(place_of(*cell.calibration, cell.where), [&] {
        for_each_model([&](const ModelHandle& model) {
          check_length(*cell.calibration, static_cast<uint64_t>(model.info().max_positions));
        });
      });
    }
  }
  return described && described->complete;
}

// All that check_fits asks: which plugins, with which parameters, and which models.
std::optional<nlohmann::json> question_of_fits(const Catalog& catalog, const Experiment& experiment,
                                               const HubEnvironment& hub,
                                               std::vector<fs::path>& configs) {
  nlohmann::json out = {{"fits", nlohmann::json::array()},
                        {"families", code_of_kind(catalog, "model")},
                        {"formats", code_of_kind(catalog, "format")}};
  for (const MetricCell& cell : experiment.metrics) {
    out["fits"].push_back({cell.plugin->code, cell.parameters});
  }
  for (const QuantizerCell& cell : experiment.quantizers) {
    out["fits"].push_back(cell.calibration ? cell.calibration->length : uint64_t{0});
  }
  if (experiment.training != nullptr) {
    out["trained"] = {experiment.training->recipe.config, experiment.training->recipe.family->id};
    return out;
  }
  std::set<std::string> models;
  for (const CheckpointCell& cell : experiment.checkpoints) {
    if (models.insert(cell.model + "\n" + cell.config + "\n" + cell.family).second) {
      const fs::path place = locate_checkpoint(cell, hub).path;
      configs.push_back(is_folder_at(place) ? place / "config.json" : place);
      if (is_file_at(cell.config)) {
        configs.emplace_back(cell.config);
      }
      out["models"].push_back({cell.config, cell.family});
    }
  }
  return out;
}

// The same for `plan`, which takes milliseconds: to describe models, families are loaded, and with
// them what computes. So `memory` keeps of these configs that all fits.
void check_known_fits(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      const Fingerprints& memory, Checks& checks) {
  std::vector<fs::path> configs;
  std::optional<nlohmann::json> question;
  try {
    question = question_of_fits(catalog, experiment, hub, configs);
  } catch (const Error&) {  // a checkpoint is not here
  }
  if (question && memory.find(*question, configs)) {
    return;
  }
  const size_t before = checks.count();
  MetricInstances metrics(catalog);
  if (check_fits(catalog, experiment, hub, metrics, checks) && question &&
      checks.count() == before) {
    memory.remember(*question, configs, "fits");
  }
}

// What plugins warn of when they open the config and the files of a model: --strict refuses it, and
// it is refused where the model is to be trained, since its config was written for that.
void check_warnings(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                    Checks& checks) {
  const bool drawn = experiment.training != nullptr;
  std::set<std::string> seen;  // one config per model, as in describe_models
  for (const CheckpointCell& cell : experiment.checkpoints) {
    if ((!drawn && !HeardWarnings::strict()) ||
        !seen.insert(cell.model + "\n" + cell.config).second) {
      continue;
    }
    checks.attempt(drawn ? "train.model" : cell.model, [&] {
      const HeardWarnings heard(drawn ? HeardWarnings::Fate::kRefused
                                      : HeardWarnings::Fate::kByInner);
      Experiment one = experiment;
      one.checkpoints = {cell};
      describe_models(catalog, one, hub);
      heard.check();
    });
  }
}

void check_quantizer(Catalog& catalog, const QuantizerCell& cell, QuantizerInstances& quantizers) {
  const QuantizerHandle& quantizer = quantizers.of(cell);
  if ((quantizer.needs() & QUENCH_NEEDS_ROWS) != 0 && !cell.calibration) {
    fail(QUENCH_INVALID_ARGUMENT,
         "quantizer {}: needs calibration data and got none, wanted `calibration` beside it or "
         "--calibration text=FILE,sequences=N,length=T",
         cell.plugin->id);
  }
  if (cell.transform) {
    const TransformHandle transform(catalog, *cell.transform->plugin, cell.transform->parameters);
    if ((transform.needs() & QUENCH_TRANSFORM_NEEDS_ROWS) != 0 && !cell.calibration) {
      fail(QUENCH_INVALID_ARGUMENT, "transform {}: needs calibration data and got none",
           transform.id());
    }
  }
  const bool repeated = cell.replicates.draws > 1 || cell.replicates.jitter > 0;
  if ((quantizer.needs() & QUENCH_NEEDS_ROWS) == 0 && repeated) {
    fail(QUENCH_INVALID_ARGUMENT,
         "quantizer {}: looks at no calibration data, so draws and jitter change nothing; leave "
         "`replicates` out",
         cell.plugin->id);
  }
}

// A metric that applies to no variant would silently be missing from the results.
void check_metric_applies(const Experiment& experiment, const MetricCell& metric) {
  for (const WeightsCell& weights : experiment.weights) {
    for (const Variant& variant : variants_of(experiment, weights)) {
      if (applies(experiment, weights, variant, metric)) {
        return;
      }
    }
  }
  fail(QUENCH_INVALID_ARGUMENT, "metric {}: {}", metric.plugin->id,
       !metric.scope.of_float && experiment.quantizers.empty()
           ? "`of` says quantized, and no quantizer is given"
       : (metric.needs & QUENCH_METRIC_NEEDS_FLOAT) != 0 && !metric.scope.of_quantized
           ? "compares quantized weights with the float ones, and `of` says float"
       : (metric.needs & QUENCH_METRIC_NEEDS_FLOAT) != 0 && experiment.quantizers.empty()
           ? "compares quantized weights with the float ones, and no quantizer is given"
           : "looks at the checkpoints of a branch, and none of them is measured unaveraged");
}

void check_file(const char* what, const std::string& path) {
  if (!exists_at(path)) {
    fail(QUENCH_NOT_FOUND, "{} {} does not exist{}", what, printable(path, 4096), path_hint(path));
  }
}

// A cell whose codes do not fit the file format would otherwise fail halfway.
void check_export(Catalog& catalog, const QuantizerCell& cell, const DescribedModel& described) {
  const std::string fault = export_fault(FormatHandle(catalog, *cell.store_as), cell.parameters,
                                         described.model, described.files.get());
  if (!fault.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: export {}: {}", cell.label, cell.store_as->id, fault);
  }
}

// Checks from the shapes of the models: patterns of modules that match none (module_rules.hpp),
// files that their format cannot hold. Loads plugins if there is something to ask.
void check_shapes(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                  QuantizerInstances& quantizers) {
  const bool worth_asking = std::any_of(
      experiment.quantizers.begin(), experiment.quantizers.end(),
      [](const QuantizerCell& cell) { return cell.store_as != nullptr || may_have_rules(cell); });
  if (!worth_asking) {
    return;
  }
  Checks checks;
  const DescribedModels described = describe_models(catalog, experiment, hub);
  checks.attempt("", [&] { check_modules(experiment, described, quantizers); });
  for (const QuantizerCell& cell : experiment.quantizers) {
    for (size_t m = 0; cell.store_as != nullptr && m < described.models.size(); ++m) {
      checks.attempt(cell.where, [&] { check_export(catalog, cell, described.models[m]); });
    }
  }
  checks.throw_if_any();
}

// Opens the corpus as a run does; `plan` does not hash what the hub's cache has of it.
void check_corpus(Catalog& catalog, const Experiment& experiment, const CorpusUse& use,
                  const HubEnvironment& hub, bool planned) {
  if (!absence_of(experiment, use).empty()) {
    return;  // reported by its own message
  }
  if (planned) {
    const CorpusHandle corpus(catalog, *use.plugin, use.parameters);
    return;
  }
  const CorpusHandle corpus = open_corpus(catalog, use, hub);
}

// The texts that a run reads. For `plan`, those of a hub may arrive later.
void check_texts(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                 bool planned, Checks& checks) {
  for (const auto& [name, why] : experiment.absent) {
    if (!planned || !is_hub_spec(name)) {
      checks.add("", why);
    }
  }
  if (!experiment.tokenizer.empty() && experiment.tokenizer != "bytes" &&
      !experiment.absent.contains(experiment.tokenizer)) {
    checks.attempt("", [&] { check_file("tokenizer", experiment.tokenizer); });
  }
  for (const MetricCell& cell : experiment.metrics) {
    for (const auto& corpus : cell.corpora) {
      checks.attempt(place_of(corpus.second, cell.where),
                     [&] { check_corpus(catalog, experiment, corpus.second, hub, planned); });
    }
  }
  for (const QuantizerCell& cell : experiment.quantizers) {
    if (cell.calibration) {
      const CorpusUse& use = cell.calibration->corpus;
      checks.attempt(place_of(use, cell.where),
                     [&] { check_corpus(catalog, experiment, use, hub, planned); });
    }
  }
}

// Whether check_quantizer may refuse the cell for its calibration, by what was noted when the
// plugin was found.
bool may_lack_calibration(const QuantizerCell& cell) {
  const auto& noted = cell.plugin->instance;
  const bool needs_rows = !noted || (noted->needs & QUENCH_NEEDS_ROWS) != 0;
  const bool repeated = cell.replicates.draws > 1 || cell.replicates.jitter > 0;
  return cell.calibration ? repeated && (!noted || !needs_rows) : needs_rows || cell.transform;
}

void check_planned_point(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                         const Fingerprints& memory) {
  Checks checks;
  QuantizerInstances quantizers(catalog);
  check_texts(catalog, experiment, hub, /*planned=*/true, checks);
  check_warnings(catalog, experiment, hub, checks);
  check_known_fits(catalog, experiment, hub, memory, checks);
  for (const QuantizerCell& cell : experiment.quantizers) {
    if (may_lack_calibration(cell)) {
      checks.attempt(cell.where, [&] { check_quantizer(catalog, cell, quantizers); });
    }
  }
  checks.attempt("", [&] { check_shapes(catalog, experiment, hub, quantizers); });
  checks.throw_if_any();
}

// Whether check_planned_point finds the same in both: points of a sweep mostly differ in what it
// does not look at. Cells are compared whole, so a key that one gains counts by itself.
bool looks_alike(const Experiment& a, const Experiment& b) {
  if (a.dtype != b.dtype || a.tokenizer != b.tokenizer || a.absent != b.absent ||
      a.metrics != b.metrics || a.quantizers != b.quantizers ||
      (a.training == nullptr) != (b.training == nullptr)) {
    return false;
  }
  return a.training == nullptr ? a.checkpoints == b.checkpoints
                               : a.training->recipe.family == b.training->recipe.family &&
                                     a.training->recipe.config == b.training->recipe.config;
}

// Another machine may compute what is planned here.
void warn_of_missing_device(const std::vector<Experiment>& experiments) {
  for (const Experiment& experiment : experiments) {
    try {
      require_device(experiment.device);
    } catch (const Error& missing) {
      HostServices::instance().log(QUENCH_LOG_WARNING, "",
                                   fmt::format("{}; `run` needs it where it runs", missing.what()));
      return;
    }
  }
}

}  // namespace

void check_planned(Catalog& catalog, const std::vector<Experiment>& experiments,
                   const HubEnvironment& hub, const Fingerprints& memory) {
  warn_of_missing_device(experiments);
  std::vector<const Experiment*> seen;
  for (const Experiment& experiment : experiments) {
    const bool again = std::any_of(seen.begin(), seen.end(), [&](const Experiment* other) {
      return looks_alike(*other, experiment);
    });
    if (!again) {
      check_planned_point(catalog, experiment, hub, memory);
      seen.push_back(&experiment);
    }
  }
}

void check_experiment(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      QuantizerInstances& quantizers, MetricInstances& metrics) {
  Checks checks;
  const std::set<size_t> read =
      experiment.is_share ? checkpoints_read(experiment) : std::set<size_t>();
  for (size_t i = 0; i < experiment.checkpoints.size(); ++i) {
    const CheckpointCell& cell = experiment.checkpoints[i];
    if (experiment.training == nullptr && !is_hub_spec(cell.location) &&
        (!experiment.is_share || read.contains(i))) {
      checks.attempt("", [&] {
        check_file("checkpoint", cell.location);
        if (const std::string absence = weights_absence(cell, hub); !absence.empty()) {
          fail(QUENCH_NOT_FOUND, "checkpoint {}", absence);
        }
      });
    }
  }
  check_texts(catalog, experiment, hub, /*planned=*/false, checks);
  check_warnings(catalog, experiment, hub, checks);
  for (const MetricCell& cell : experiment.metrics) {
    checks.attempt(cell.where, [&] {
      for (const CorpusUse& use : metrics.wanted(cell, hub).data_sets) {
        check_corpus(catalog, experiment, use, hub, /*planned=*/false);
      }
    });
    if (!experiment.is_share) {
      checks.attempt(cell.where, [&] { check_metric_applies(experiment, cell); });
    }
  }
  check_fits(catalog, experiment, hub, metrics, checks);
  for (const QuantizerCell& cell : experiment.quantizers) {
    checks.attempt(cell.where, [&] { check_quantizer(catalog, cell, quantizers); });
  }
  checks.attempt("", [&] { check_shapes(catalog, experiment, hub, quantizers); });
  checks.throw_if_any();
}

}  // namespace quench
