#include "run/manifest/contrast_pairs.hpp"

#include <algorithm>

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

// The records that a run of the experiments will have, as far as pairing looks at them: a loss of
// 1 everywhere, draw 0.
class PlannedRecords {
 public:
  PlannedRecords(const std::vector<Experiment>& experiments, bool all_metrics) {
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

  std::vector<Record> records;

 private:
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
    for (const WeightsCell& weights : experiment.weights) {
      record.checkpoint =
          describe_checkpoint(experiment, experiment.checkpoints[weights.checkpoint], "");
      record.averaging = describe_averaging(experiment, weights);
      record.quantizer = nullptr;
      records.push_back(record);
      for (const QuantizerCell& quantizer : experiment.quantizers) {
        record.quantizer = {
            {"id", quantizer.plugin->id},
            {"params", quantizer.parameters},
            {"label", quantizer.label},
            {"calibration", quantizer.calibration ? nlohmann::json(quantizer.calibration->name)
                                                  : nlohmann::json()}};
        records.push_back(record);
      }
    }
  }
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
  const PlannedRecords planned(experiments, needs_all_metrics(report));
  const std::vector<Observation> cells = observe(planned.records).all;
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
