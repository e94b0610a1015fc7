#include "run/manifest/report_check.hpp"

#include <algorithm>

#include "core/inputs/experiment/experiment.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

namespace {

using nlohmann::json;

json planned_weights(const Experiment& experiment) {
  json out = json::array();
  for (const WeightsCell& weights : experiment.weights) {
    out.push_back({{"checkpoint", weights.checkpoint},
                   {"line", weights.averaging ? static_cast<int64_t>(*weights.averaging) : -1},
                   {"averaging", describe_averaging(experiment, weights)}});
  }
  return out;
}

json planned_metrics(const Experiment& experiment) {
  json out = json::array();
  for (const MetricCell& metric : experiment.metrics) {
    out.push_back({{"id", metric.plugin->id},
                   {"label", metric.label},
                   {"of_float", metric.scope.of_float},
                   {"of_quantized", metric.scope.of_quantized},
                   {"needs_float", (metric.needs & QUENCH_METRIC_NEEDS_FLOAT) != 0},
                   {"needs_trajectory", (metric.needs & QUENCH_METRIC_NEEDS_TRAJECTORY) != 0}});
  }
  return out;
}

json planned(const Experiment& experiment) {
  json out = {{"job", experiment.job},
              {"point", experiment.point},
              {"seed", experiment.seed},
              {"dtype", dtype_text(experiment.dtype)},
              {"device", device_text(experiment.device)},
              {"weights", planned_weights(experiment)},
              {"metrics", planned_metrics(experiment)}};
  for (const char* name : {"branches", "checkpoints", "averagings", "quantizers"}) {
    out[name] = json::array();
  }
  for (const Branch& branch : experiment.branches) {
    out["branches"].push_back(branch.name);
  }
  for (const CheckpointCell& cell : experiment.checkpoints) {
    out["checkpoints"].push_back(describe_checkpoint(experiment, cell, ""));
  }
  for (const AveragingCell& cell : experiment.averagings) {
    out["averagings"].push_back({{"id", cell.plugin->id}, {"label", cell.label}});
  }
  for (const QuantizerCell& cell : experiment.quantizers) {
    out["quantizers"].push_back(
        {{"id", cell.plugin->id},
         {"params", cell.parameters},
         {"label", cell.label},
         {"calibration", cell.calibration ? json(cell.calibration->name) : json()}});
  }
  return out;
}

// The place of what `path` leads to, or of the last thing on the way that is there.
Place place_of(const YamlNode& section, const json& path, bool of_key) {
  const YamlNode* node = &section;
  Place out = section.place;
  for (const json& step : path) {
    if (step.is_number_integer()) {
      if (step.get<size_t>() >= node->items.size()) {
        return out;
      }
      node = &node->items[step.get<size_t>()];
      out = node->place;
      continue;
    }
    const auto member = std::find_if(
        node->members.begin(), node->members.end(),
        [&](const YamlNode::Member& each) { return step.is_string() && each.key == step; });
    if (member == node->members.end()) {
      return out;
    }
    node = &member->value;
    out = of_key ? member->key_place : node->place;
  }
  return out;
}

}  // namespace

json planned_experiments(const std::vector<Experiment>& experiments) {
  json out = json::array();
  for (const Experiment& experiment : experiments) {
    out.push_back(planned(experiment));
  }
  return out;
}

std::vector<std::string> check_report(const YamlNode& section,
                                      const std::vector<Experiment>& experiments,
                                      const AskReport& ask, Problems& problems) {
  if (section.is_null() || !ask) {
    return {};
  }
  const json answer =
      ask({{"report", yaml_to_json(section)},
           {"experiments", problems.empty() ? planned_experiments(experiments) : json()}});
  if (answer.is_null()) {
    return {};
  }
  for (const json& fault : answer.at("faults")) {
    problems.add(place_of(section, fault.at("path"), fault.at("of_key").get<bool>()),
                 fault.at("text").get<std::string>());
  }
  std::vector<std::string> out;
  for (const json& warning : answer.at("warnings")) {
    out.push_back(place_of(section, warning.at("path"), false).text() + ": " +
                  warning.at("text").get<std::string>());
  }
  return out;
}

}  // namespace quench
