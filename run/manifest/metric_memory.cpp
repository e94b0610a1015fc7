#include "run/manifest/metric_memory.hpp"

#include <algorithm>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/handles/metric_handle.hpp"
#include "quench/abi/extension/gradients.h"
#include "run/manifest/described_model.hpp"

namespace quench {

namespace {

MetricPeak peak_of(const MetricHandle& metric, const ModelHandle& model, bool on_gpu) {
  MetricPeak out;
  out.all = out.host = metric.memory(model);
  if (on_gpu) {
    const bool keeps_vectors = model.extension(QUENCH_MODEL_VECTORS) != nullptr;
    const MetricHandle::Placed whole = metric.memory_on_device(model, keeps_vectors);
    const MetricHandle::Placed by_block = metric.memory_on_device(model, false);
    out.host = std::max(whole.host, by_block.host);
    out.device = whole.device;
    out.device_by_block = by_block.device;
  }
  return out;
}

// The larger of each, and `more` of everything that is there.
void take_larger(MetricPeak& most, const MetricPeak& peak, uint64_t more, bool on_gpu) {
  most.all = std::max(most.all, peak.all + more);
  most.host = std::max(most.host, peak.host + more);
  if (on_gpu) {
    most.device = std::max(most.device, peak.device + more);
    most.device_by_block = std::max(most.device_by_block, peak.device_by_block + more);
  }
}

}  // namespace

MetricMemory predict_metric_memory(Catalog& catalog, const Experiment& experiment,
                                   const HubEnvironment& hub) {
  MetricMemory out{0, 0, std::vector<MetricPeak>(experiment.metrics.size())};
  const bool on_gpu = experiment.device.type != QUENCH_DEVICE_CPU;
  for (size_t m = 0; m < experiment.metrics.size(); ++m) {
    const MetricCell& cell = experiment.metrics[m];
    try {
      const MetricHandle metric(catalog, *cell.plugin, cell.parameters);
      if (!metric.predicts_memory()) {
        continue;
      }
      const quench_dtype dtype = cell.dtype.value_or(experiment.dtype);
      const bool own = !same_dtype(dtype, experiment.dtype);  // a second model, in its own dtype
      for (const DescribedModel& each : describe_models(catalog, experiment, hub, dtype).models) {
        const uint64_t parameters = parameter_count(each.model);
        out.parameters = std::max(out.parameters, parameters);
        out.visiting = std::max(out.visiting, visiting_elements(each.model) * dtype_size(dtype));
        take_larger(out.peaks[m], peak_of(metric, each.model, on_gpu),
                    own ? parameters * dtype_size(dtype) : uint64_t{0}, on_gpu);
      }
    } catch (const Error&) {  // the checks of a run report what is wrong
      out.peaks[m] = {};
    }
  }
  return out;
}

}  // namespace quench
