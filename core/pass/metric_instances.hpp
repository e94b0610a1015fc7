// The metrics of an experiment, one instance for each setting.
#pragma once

#include <map>
#include <optional>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/metric_records.hpp"
#include "core/plugin/handles/metric_handle.hpp"

namespace quench {

class MetricInstances {
 public:
  explicit MetricInstances(Catalog& catalog) : catalog_(catalog) {}

  Catalog& catalog() const { return catalog_; }
  // What the metric reads besides its corpora; the instance is created at the first request and
  // kept as long as this object, which the cell must outlive. Throws the plugin's message for
  // refused parameters, and like wanted_records, each time.
  const WantedRecords& wanted(const MetricCell& cell, const HubEnvironment& hub);
  // Throws INVALID_ARGUMENT if the metric cannot measure this model, which may be a description.
  void check_fit(const MetricCell& cell, const HubEnvironment& hub, const ModelHandle& model);
  // Whether the metric has something to say of models before a run.
  bool checks_fit(const MetricCell& cell, const HubEnvironment& hub);
  // The instance, which has all its records: they are read once. Throws like give_records.
  MetricHandle& ready(const MetricCell& cell, Corpora& corpora);
  // A failed instance is not kept: the next request creates another.
  void drop(const MetricCell& cell) { made_.erase(&cell); }

 private:
  struct Made {
    MetricHandle handle;
    WantedRecords wanted;
    bool has_records = false;
  };
  Made& of(const MetricCell& cell, const HubEnvironment& hub);

  Catalog& catalog_;
  std::map<const MetricCell*, Made> made_;
};

}  // namespace quench
