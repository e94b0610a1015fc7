// Receives a metric's values on the host's side.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plugin/handles/sink_room.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

class MetricSink {
 public:
  MetricSink();
  MetricSink(const MetricSink&) = delete;
  MetricSink& operator=(const MetricSink&) = delete;

  const quench_metric_sink* get() const { return &sink_; }

  struct Value {
    std::string name;
    double value;
    std::string unit;
    int32_t direction;
    double standard_error;  // NaN if there is none
  };
  std::vector<Value> values;
  nlohmann::json details = nlohmann::json::object();
  std::vector<double> items;  // the metric's first items() call
  SinkRoom room;              // of all of these

 private:
  void take_value(const char* name, double value, const char* unit, int32_t direction,
                  double standard_error);
  void take_detail(const char* name, double value);
  void take_items(const char* name, const double* given, uint64_t count);
  void take_json(const char* name, const char* text, uint64_t bytes);

  quench_metric_sink sink_;
};

}  // namespace quench
