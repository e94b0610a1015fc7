// An instance of a metric plugin. Every call throws quench::Error whose message starts with "metric
// <id>: ".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/plugin/catalog.hpp"
#include "core/plugin/model_handle.hpp"
#include "quench/abi/extension/metric_fits.h"
#include "quench/abi/extension/metric_memory.h"
#include "quench/abi/kind/metric.h"

namespace quench {

class MetricHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  MetricHandle(Catalog& catalog, const PluginDescription& description,
               const nlohmann::json& parameters);
  ~MetricHandle();
  MetricHandle(MetricHandle&& other) noexcept;
  MetricHandle& operator=(MetricHandle&&) = delete;
  MetricHandle(const MetricHandle&) = delete;

  const std::string& id() const { return id_; }
  bool is_apart() const { return apart_; }  // runs in a process of its own
  quench_metric* get() const { return metric_; }
  void evaluate(const quench_evaluate_args& args);
  const void* extension(const char* id) const;
  uint32_t needs() const;  // QUENCH_METRIC_NEEDS_*
  // Extension quench.metric.memory/1; `model` may be a description only.
  bool predicts_memory() const { return extension(QUENCH_METRIC_MEMORY) != nullptr; }
  uint64_t memory(const ModelHandle& model) const;  // 0 without the extension
  // The same where `model` is or would be on a device. A metric that does not say where its memory
  // is has it on both sides, one in a process of its own in host memory.
  struct Placed {
    uint64_t device = 0;
    uint64_t host = 0;
  };
  Placed memory_on_device(const ModelHandle& model, bool vectors_there) const;
  // Extension quench.metric.fits/1; throws INVALID_ARGUMENT if the model cannot be measured.
  bool checks_fit() const { return extension(QUENCH_METRIC_FITS) != nullptr; }
  void check_fit(const ModelHandle& model) const;  // does nothing without the extension

 private:
  std::string id_;
  std::string label_;
  const quench_metric_table* table_ = nullptr;
  bool apart_ = false;
  quench_metric* metric_ = nullptr;
};

}  // namespace quench
