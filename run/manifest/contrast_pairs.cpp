#include "run/manifest/contrast_pairs.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "core/error.hpp"
#include "core/experiment/described_weights.hpp"
#include "quench/abi/kind/metric.h"
#include "report/contrast.hpp"
#include "report/dimension.hpp"
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

// The observations that a run of the experiments will make, as far as pairing looks at them: draw 0
// of losses. Made directly, since observe() would look for each one's float model by its content.
class PlannedCells {
 public:
  PlannedCells(const std::vector<Experiment>& experiments, bool all_metrics) {
    for (const Experiment& experiment : experiments) {
      for (const MetricCell& metric : experiment.metrics) {
        if (is_comparable(metric)) {
          add(experiment, metric);
          if (!all_metrics) {
            break;
          }
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

  void add(const Experiment& experiment, const MetricCell& metric) {
    Record record;
    record.metric = metric.plugin->id;
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
      const size_t position = places[line]++;
      for (const QuantizerCell& quantizer : experiment.quantizers) {
        record.quantizer = {
            {"id", quantizer.plugin->id},
            {"params", quantizer.parameters},
            {"label", quantizer.label},
            {"calibration", quantizer.calibration ? nlohmann::json(quantizer.calibration->name)
                                                  : nlohmann::json()}};
        Observation it;
        it.record = &records_.emplace_back(record);
        it.floating = &floating;
        it.position = position;
        it.is_last = position + 1 == lengths[line];
        it.weights = fmt::format("{}", w);
        it.cell = fmt::format("{}\n{}\n{}\n{}", w, quantizer.label, metric.label, point);
        observations.push_back(std::move(it));
      }
    }
  }

  std::deque<Record> records_;  // keeps the elements where they are
};

bool selects_unknown_bits(const Selector& side, const std::vector<Observation>& cells) {
  const SelectedCells selected = select(side, cells);
  return std::any_of(selected.found.begin(), selected.found.end(), [](const Observation* it) {
    return dimension_value(*it->record, "bits").is_null();
  });
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
  const PlannedCells planned(experiments, needs_all_metrics(report));
  const std::vector<Observation>& cells = planned.observations;
  for (const ContrastSpec& contrast : report.contrasts) {
    if (looks_at_bits(contrast) &&
        (selects_unknown_bits(contrast.a, cells) || selects_unknown_bits(contrast.b, cells))) {
      continue;
    }
    for (const std::string& fault : faults_of(contrast, cells)) {
      problems.add(contrast.place, "contrasts: " + fault);
    }
  }
}

}  // namespace quench
