#include "run/manifest/contrast_pairs.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/experiment/described_weights.hpp"
#include "quench/abi/kind/metric.h"
#include "report/contrast.hpp"
#include "report/dimension.hpp"
#include "report/pairing.hpp"
#include "report/selector.hpp"

namespace quench {

namespace {

bool names_metric(const Selector& side) {
  return std::any_of(side.conditions.begin(), side.conditions.end(),
                     [](const Condition& each) { return each.first == "metric"; });
}

// Every metric gives the same cells, so one is enough unless a contrast names some.
bool needs_all_metrics(const ReportSpec& report) {
  return std::any_of(
      report.contrasts.begin(), report.contrasts.end(),
      [](const ContrastSpec& each) { return names_metric(each.a) || names_metric(each.b); });
}

bool is_comparable(const MetricCell& metric) {
  return metric.scope.of_float && metric.scope.of_quantized &&
         (metric.needs & QUENCH_METRIC_NEEDS_TRAJECTORY) == 0;
}

// The metric of a value: "curvature" of "curvature/trace".
std::string metric_of(const std::string& value) {
  return value.substr(0, value.find('/'));
}

bool is_named(const MetricCell& metric, const std::string& name) {
  return metric.plugin->id == name || metric.label == name;
}

// The observations that a run of the experiments will make, as far as pairing looks at them: draw 0
// of losses or of one metric's value. Made directly, since observe() would look for each one's
// float model by its content.
class PlannedCells {
 public:
  PlannedCells(const std::vector<Experiment>& experiments, bool all_metrics) {
    for (const Experiment& experiment : experiments) {
      for (const MetricCell& metric : experiment.metrics) {
        if (is_comparable(metric)) {
          add(experiment, metric, "");
          if (!all_metrics) {
            break;
          }
        }
      }
    }
  }

  PlannedCells(const std::vector<Experiment>& experiments, const std::string& value) {
    for (const Experiment& experiment : experiments) {
      for (const MetricCell& metric : experiment.metrics) {
        if (is_named(metric, metric_of(value))) {
          add(experiment, metric, value.substr(metric_of(value).size()));
        }
      }
    }
  }

  std::vector<Observation> observations;

 private:
  // Branch and averaging of the weights: a line along the training.
  static std::string line_of(const Experiment& experiment, const WeightsCell& weights) {
    return fmt::format("{}\n{}", experiment.checkpoints[weights.checkpoint].branch,
                       weights.averaging ? static_cast<int64_t>(*weights.averaging) : -1);
  }

  // `further`: "/trace" of a further value, or "".
  void add(const Experiment& experiment, const MetricCell& metric, const std::string& further) {
    Record record;
    record.metric = metric.plugin->id + further;
    record.label = metric.label;
    record.value = 1.0;
    record.unit = "nats/token";
    record.direction = QUENCH_LOWER_IS_BETTER;
    record.job = experiment.job;
    record.environment = {{"seed", experiment.seed},
                          {"dtype", dtype_text(experiment.dtype)},
                          {"device", device_text(experiment.device)}};
    if (!experiment.point.is_null()) {
      record.environment["sweep"] = experiment.point;
    }
    const std::string point = sweep_point(record).dump();  // equal for seeds
    std::map<std::string, size_t> lengths;
    for (const WeightsCell& weights : experiment.weights) {
      ++lengths[line_of(experiment, weights)];
    }
    std::map<std::string, size_t> places;
    for (size_t w = 0; w < experiment.weights.size(); ++w) {
      const WeightsCell& weights = experiment.weights[w];
      const std::string line = line_of(experiment, weights);
      record.checkpoint =
          describe_checkpoint(experiment, experiment.checkpoints[weights.checkpoint], "");
      record.averaging = describe_averaging(experiment, weights);
      record.quantizer = nullptr;
      const Record& floating = records_.emplace_back(record);
      Observation it;
      it.record = &floating;
      it.position = places[line]++;
      it.is_last = it.position + 1 == lengths[line];
      it.weights = fmt::format("{}", w);
      it.cell = fmt::format("{}\n\n{}\n{}", w, metric.label, point);
      if (metric.scope.of_float && (metric.needs & QUENCH_METRIC_NEEDS_FLOAT) == 0) {
        observations.push_back(it);
      }
      for (const QuantizerCell& quantizer : experiment.quantizers) {
        if (!metric.scope.of_quantized) {
          break;
        }
        record.quantizer = {
            {"id", quantizer.plugin->id},
            {"params", quantizer.parameters},
            {"label", quantizer.label},
            {"calibration", quantizer.calibration ? nlohmann::json(quantizer.calibration->name)
                                                  : nlohmann::json()}};
        it.record = &records_.emplace_back(record);
        it.floating = &floating;
        it.cell = fmt::format("{}\n{}\n{}\n{}", w, quantizer.label, metric.label, point);
        observations.push_back(it);
      }
    }
  }

  std::deque<Record> records_;  // keeps the elements where they are
};

bool selects_unknown_bits(const Selector& side, const ContrastSpec& spec,
                          const std::vector<Observation>& cells) {
  const SelectedCells selected = select(side, cells, spec.of_metric);
  return std::any_of(selected.found.begin(), selected.found.end(), [](const Observation* it) {
    return !it->is_float() && dimension_value(*it->record, "bits").is_null();
  });
}

// Why the contrast's `of` names nothing, or "".
std::string unknown_value(const ContrastSpec& spec, const std::vector<Experiment>& experiments) {
  std::vector<std::string> known = {"delta", "loss"};
  for (const Experiment& experiment : experiments) {
    for (const MetricCell& metric : experiment.metrics) {
      if (is_named(metric, metric_of(spec.of_metric))) {
        return "";
      }
      add_once(metric.label, known);
    }
  }
  return fmt::format("`of`: got {}, wanted one of {}", printable(spec.of_metric),
                     fmt::join(known, ", "));
}

bool looks_at_bits(const ContrastSpec& spec) {
  const auto by_bits = [](const Selector& side) {
    return std::any_of(side.conditions.begin(), side.conditions.end(),
                       [](const Condition& each) { return each.first == "bits"; });
  };
  return !spec.match || by_bits(spec.a) || by_bits(spec.b) ||
         std::find(spec.match->begin(), spec.match->end(), "bits") != spec.match->end();
}

}  // namespace

void check_contrast_pairs(const ReportSpec& report, const std::vector<Experiment>& experiments,
                          Problems& problems) {
  if (report.contrasts.empty()) {
    return;
  }
  const PlannedCells losses(experiments, needs_all_metrics(report));
  for (const ContrastSpec& contrast : report.contrasts) {
    std::optional<PlannedCells> values;
    if (!contrast.of_metric.empty()) {
      if (const std::string fault = unknown_value(contrast, experiments); !fault.empty()) {
        problems.add(contrast.place, "contrasts: " + fault);
        continue;
      }
      values.emplace(experiments, contrast.of_metric);
    }
    const std::vector<Observation>& cells = values ? values->observations : losses.observations;
    if (looks_at_bits(contrast) && (selects_unknown_bits(contrast.a, contrast, cells) ||
                                    selects_unknown_bits(contrast.b, contrast, cells))) {
      continue;
    }
    for (const std::string& fault : faults_of(contrast, cells)) {
      problems.add(contrast.place, "contrasts: " + fault);
    }
  }
}

}  // namespace quench
