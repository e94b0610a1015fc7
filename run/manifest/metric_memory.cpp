#include "run/manifest/metric_memory.hpp"

#include <algorithm>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/metric_handle.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

MetricMemory predict_metric_memory(Catalog& catalog, const Experiment& experiment,
                                   const HubEnvironment& hub) {
  MetricMemory out{0, std::vector<uint64_t>(experiment.metrics.size())};
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
        out.bytes[m] =
            std::max(out.bytes[m], metric.memory(each.model) +
                                       (own ? parameters * dtype_size(dtype) : uint64_t{0}));
      }
    } catch (const Error&) {  // the checks of a run report what is wrong
      out.bytes[m] = 0;
    }
  }
  return out;
}

}  // namespace quench
