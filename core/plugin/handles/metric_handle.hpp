// An instance of a metric plugin. Every call throws quench::Error whose message starts with "metric
// <id>: ".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

class MetricHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  MetricHandle(Catalog& catalog, const PluginDescription& description,
               const nlohmann::json& parameters);

  const std::string& id() const { return id_; }
  bool is_in_worker() const { return in_worker_; }  // runs in a process of its own
  quench_metric* get() const { return metric_.get(); }
  void evaluate(const quench_evaluate_args& args);
  uint32_t needs() const;  // QUENCH_METRIC_NEEDS_*
  bool predicts_memory() const { return metric_.has<&quench_metric_table::predict_memory>(); }
  // `model` may be a description only; 0 if it is not predicted.
  uint64_t memory(const ModelHandle& model) const;
  // The same where `model` is or would be on a device. A metric that does not say where its memory
  // is has it on both sides, one in a process of its own in host memory.
  struct Placed {
    uint64_t device = 0;
    uint64_t host = 0;
  };
  Placed memory_on_device(const ModelHandle& model, bool vectors_there) const;
  bool checks_fit() const { return metric_.has<&quench_metric_table::fits>(); }
  // Throws INVALID_ARGUMENT if the model cannot be measured.
  void check_fit(const ModelHandle& model) const;
  // Whether it reads records: what it wants is asked once, then all of that is given to it.
  bool reads_records() const { return metric_.has<&quench_metric_table::wants>(); }
  void wants(const quench_record_host& host);
  // False: it wants no more of the data set.
  bool take(uint32_t data_set, std::string_view record);

 private:
  std::string id_;
  PluginObject<&quench_metric_table::destroy> metric_;
  bool in_worker_;
};

}  // namespace quench
