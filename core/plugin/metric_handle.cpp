#include "core/plugin/metric_handle.hpp"

#include <cstddef>
#include <utility>

#include "core/plugin/instance.hpp"

namespace quench {

MetricHandle::MetricHandle(Catalog& catalog, const PluginDescription& description,
                           const nlohmann::json& parameters)
    : id_(description.id),
      label_(plugin_label(description)),
      table_(load_table<quench_metric_table>(catalog, description)),
      apart_(quench::is_apart(catalog, description)),
      metric_(create_instance(label_, "create", table_->create, parameters)) {}

MetricHandle::~MetricHandle() {
  if (metric_ != nullptr) {
    const PluginCall call(label_.c_str(), "destroy");
    table_->destroy(metric_);
  }
}

MetricHandle::MetricHandle(MetricHandle&& other) noexcept
    : id_(std::move(other.id_)),
      label_(std::move(other.label_)),
      table_(other.table_),
      apart_(other.apart_),
      metric_(std::exchange(other.metric_, nullptr)) {}

void MetricHandle::evaluate(const quench_evaluate_args& args) {
  work_call(label_, "evaluate", {}, table_->evaluate, metric_, &args);
}

uint32_t MetricHandle::needs() const {
  const bool has = table_->struct_size > offsetof(quench_metric_table, needs);
  return has && table_->needs != nullptr ? guarded_call(label_, "needs", {}, table_->needs, metric_)
                                         : 0;
}

uint64_t MetricHandle::memory(const ModelHandle& model) const {
  constexpr size_t kNeeded = offsetof(quench_metric_memory, predict_on_device);
  const auto* table = static_cast<const quench_metric_memory*>(extension(QUENCH_METRIC_MEMORY));
  uint64_t bytes = 0;
  if (table != nullptr && table->struct_size >= kNeeded && table->predict != nullptr) {
    table_call(label_, "memory", table->predict, metric_, &model.table(), model.get(), &bytes);
  }
  return bytes;
}

MetricHandle::Placed MetricHandle::memory_on_device(const ModelHandle& model,
                                                    bool vectors_there) const {
  const auto* table = static_cast<const quench_metric_memory*>(extension(QUENCH_METRIC_MEMORY));
  if (table == nullptr || table->struct_size < sizeof *table ||
      table->predict_on_device == nullptr) {
    const uint64_t bytes = memory(model);
    return {apart_ ? 0 : bytes, bytes};
  }
  Placed out;
  table_call(label_, "memory on a device", table->predict_on_device, metric_, &model.table(),
             model.get(), vectors_there && !apart_ ? QUENCH_METRIC_VECTORS_ON_DEVICE : 0u,
             &out.device, &out.host);
  return out;
}

void MetricHandle::check_fit(const ModelHandle& model) const {
  const auto* table = static_cast<const quench_metric_fits*>(extension(QUENCH_METRIC_FITS));
  if (table != nullptr && table->struct_size >= sizeof *table && table->check != nullptr) {
    table_call(label_, "check", table->check, metric_, &model.table(), model.get());
  }
}

const void* MetricHandle::extension(const char* id) const {
  return table_->extension == nullptr
             ? nullptr
             : guarded_call(label_, "extension", {}, table_->extension, metric_, id);
}

}  // namespace quench
