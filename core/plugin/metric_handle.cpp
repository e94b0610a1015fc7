#include "core/plugin/metric_handle.hpp"

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
  return table_->needs != nullptr ? guarded_call(label_, "needs", {}, table_->needs, metric_) : 0;
}

uint64_t MetricHandle::memory(const ModelHandle& model) const {
  uint64_t bytes = 0;
  if (predicts_memory()) {
    table_call(label_, "memory", table_->predict_memory, metric_, &model.table(), model.get(),
               &bytes);
  }
  return bytes;
}

MetricHandle::Placed MetricHandle::memory_on_device(const ModelHandle& model,
                                                    bool vectors_there) const {
  if (table_->predict_memory_on_device == nullptr) {
    const uint64_t bytes = memory(model);
    return {apart_ ? 0 : bytes, bytes};
  }
  Placed out;
  table_call(label_, "memory on a device", table_->predict_memory_on_device, metric_,
             &model.table(), model.get(),
             vectors_there && !apart_ ? QUENCH_METRIC_VECTORS_ON_DEVICE : 0u, &out.device,
             &out.host);
  return out;
}

void MetricHandle::check_fit(const ModelHandle& model) const {
  if (checks_fit()) {
    table_call(label_, "check", table_->fits, metric_, &model.table(), model.get());
  }
}

void MetricHandle::wants(const quench_record_host& host) {
  table_call(label_, "wants", table_->wants, metric_, &host);
}

bool MetricHandle::take(uint32_t data_set, std::string_view record) {
  quench_error error{sizeof error, 0, {}};
  const quench_status status = guarded_call(label_, "take", {}, table_->take, metric_, data_set,
                                            record.data(), uint64_t{record.size()}, &error);
  if (status != QUENCH_OK && status != QUENCH_END) {
    throw_status(label_, "take", status, error);
  }
  return status == QUENCH_OK;
}

}  // namespace quench
