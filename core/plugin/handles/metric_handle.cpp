#include "core/plugin/handles/metric_handle.hpp"

#include <utility>

#include "core/plugin/handles/instance.hpp"

namespace quench {

MetricHandle::MetricHandle(Catalog& catalog, const PluginDescription& description,
                           const nlohmann::json& parameters)
    : id_(description.id),
      metric_(make_instance<&quench_metric_table::create, &quench_metric_table::destroy>(
          catalog, description, parameters)),
      in_worker_(quench::is_in_worker(catalog, description)) {}

void MetricHandle::evaluate(const quench_evaluate_args& args) {
  metric_.call<&quench_metric_table::evaluate>(&args);
}

uint32_t MetricHandle::needs() const {
  return metric_.call_or<&quench_metric_table::needs>(0u);
}

uint64_t MetricHandle::memory(const ModelHandle& model) const {
  uint64_t bytes = 0;
  if (predicts_memory()) {
    metric_.call<&quench_metric_table::predict_memory>(&model.table(), model.get(), &bytes);
  }
  return bytes;
}

MetricHandle::Placed MetricHandle::memory_on_device(const ModelHandle& model,
                                                    bool vectors_there) const {
  if (!metric_.has<&quench_metric_table::predict_memory_on_device>()) {
    const uint64_t bytes = memory(model);
    return {in_worker_ ? 0 : bytes, bytes};
  }
  Placed out;
  metric_.call<&quench_metric_table::predict_memory_on_device>(
      &model.table(), model.get(),
      vectors_there && !in_worker_ ? QUENCH_METRIC_VECTORS_ON_DEVICE : 0u, &out.device, &out.host);
  return out;
}

void MetricHandle::check_fit(const ModelHandle& model) const {
  if (checks_fit()) {
    metric_.call<&quench_metric_table::fits>(&model.table(), model.get());
  }
}

void MetricHandle::wants(const quench_record_host& host) {
  metric_.call<&quench_metric_table::wants>(&host);
}

bool MetricHandle::take(uint32_t data_set, std::string_view record) {
  quench_error error{sizeof error, 0, {}};
  const quench_status status =
      metric_.call<&quench_metric_table::take>(data_set, record.data(), record.size(), &error);
  if (status != QUENCH_OK && status != QUENCH_END) {
    throw_status(metric_.label(), "take", status, error);
  }
  return status == QUENCH_OK;
}

}  // namespace quench
