#include "run/check_experiment.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "core/corpora/open_corpus.hpp"
#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/quantizer_handle.hpp"
#include "core/plugin/transform_handle.hpp"
#include "core/weights/export_weights.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/check_plugins.hpp"
#include "run/manifest/module_rules.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

class Checks {
 public:
  // Runs `body`; keeps errors of the user's input and lets all others pass.
  template <typename Body>
  void attempt(const std::string& where, Body body) {
    if (HostServices::instance().cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    try {
      body();
    } catch (const Error& error) {
      if (error.code() != QUENCH_INVALID_ARGUMENT && error.code() != QUENCH_NOT_FOUND) {
        throw;
      }
      const std::string message = where.empty() ? error.what() : where + ": " + error.what();
      if (std::find(messages_.begin(), messages_.end(), message) == messages_.end()) {
        messages_.push_back(message);
      }
    }
  }

  void throw_if_any() const {
    if (!messages_.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(messages_, "\n"));
    }
  }

 private:
  std::vector<std::string> messages_;
};

void check_quantizer(Catalog& catalog, const QuantizerCell& cell, QuantizerInstances& quantizers) {
  const QuantizerHandle& quantizer = quantizers.of(cell);
  if ((quantizer.needs() & QUENCH_NEEDS_ROWS) != 0 && !cell.calibration) {
    fail(QUENCH_INVALID_ARGUMENT, "quantizer {}: needs calibration data and got none",
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
  std::error_code error;
  if (!fs::exists(path, error)) {
    fail(QUENCH_NOT_FOUND, "{} {} does not exist{}", what, printable(path, 4096), hub_hint(path));
  }
}

// Blocks longer than the context would otherwise fail each cell after its model has been loaded.
// Whatever else goes wrong here is told by the cells, each for itself.
void check_fits(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                MetricInstances& metrics, Checks& checks) {
  std::optional<DescribedModels> described;
  const auto check = [&](const MetricCell& cell) {
    if (!metrics.checks_fit(cell, hub)) {
      return;
    }
    if (!described) {
      described = describe_models(catalog, experiment, hub);
    }
    for (const DescribedModel& each : described->models) {
      metrics.check_fit(cell, hub, each.model);
    }
  };
  for (const MetricCell& cell : experiment.metrics) {
    checks.attempt(cell.where, [&] {
      try {
        check(cell);
      } catch (const Error& error) {
        if (error.code() == QUENCH_INVALID_ARGUMENT) {
          throw;
        }
      }
    });
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

}  // namespace

std::set<size_t> checkpoints_read(const Experiment& experiment) {
  std::set<size_t> out;
  for (const WeightsCell& weights : experiment.weights) {
    out.insert(weights.members.begin(), weights.members.end());
    if (weights.members.empty()) {
      out.insert(weights.checkpoint);
    }
    for (const MetricCell& metric : experiment.metrics) {
      if ((metric.needs & QUENCH_METRIC_NEEDS_TRAJECTORY) == 0) {
        continue;
      }
      for (const Variant& variant : variants_of(experiment, weights)) {
        if (applies(experiment, weights, variant, metric)) {
          const std::vector<size_t> branch = branch_until(experiment, weights.checkpoint);
          out.insert(branch.begin(), branch.end());
        }
      }
    }
  }
  return out;
}

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

void check_experiment(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      QuantizerInstances& quantizers, MetricInstances& metrics) {
  check_plugins(catalog, experiment);  // before any of them is loaded
  Checks checks;
  const std::set<size_t> read =
      experiment.is_share ? checkpoints_read(experiment) : std::set<size_t>();
  for (size_t i = 0; i < experiment.checkpoints.size(); ++i) {
    const CheckpointCell& cell = experiment.checkpoints[i];
    if (experiment.training == nullptr && cell.location.rfind("hf://", 0) != 0 &&
        (!experiment.is_share || read.contains(i))) {
      checks.attempt("", [&] { check_file("checkpoint", cell.location); });
    }
  }
  for (const auto& absent : experiment.absent) {
    checks.attempt("", [&] { fail(QUENCH_NOT_FOUND, "{}", absent.second); });
  }
  if (!experiment.tokenizer.empty() && experiment.tokenizer != "bytes" &&
      !experiment.absent.contains(experiment.tokenizer)) {
    checks.attempt("", [&] { check_file("tokenizer", experiment.tokenizer); });
  }
  const auto check_corpus = [&](const CorpusUse& use) {
    if (!absence_of(experiment, use).empty()) {
      return;  // reported by its own message
    }
    const CorpusHandle corpus = open_corpus(catalog, use, hub);
  };
  for (const MetricCell& cell : experiment.metrics) {
    for (const auto& corpus : cell.corpora) {
      checks.attempt(cell.where, [&] { check_corpus(corpus.second); });
    }
    checks.attempt(cell.where, [&] {
      for (const CorpusUse& use : metrics.wanted(cell, hub).data_sets) {
        check_corpus(use);
      }
    });
    if (!experiment.is_share) {
      checks.attempt(cell.where, [&] { check_metric_applies(experiment, cell); });
    }
  }
  check_fits(catalog, experiment, hub, metrics, checks);
  for (const QuantizerCell& cell : experiment.quantizers) {
    if (cell.calibration) {
      checks.attempt(cell.where, [&] { check_corpus(cell.calibration->corpus); });
    }
    checks.attempt(cell.where, [&] { check_quantizer(catalog, cell, quantizers); });
  }
  checks.attempt("", [&] { check_shapes(catalog, experiment, hub, quantizers); });
  checks.throw_if_any();
}

}  // namespace quench
