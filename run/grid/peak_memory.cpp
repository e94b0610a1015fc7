#include "run/grid/peak_memory.hpp"

#include <algorithm>
#include <optional>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/pass/judge.hpp"
#include "core/pass/pass_memory.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/handles/metric_handle.hpp"
#include "quench/abi/extension/gradients.h"
#include "run/grid/estimate.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

namespace {

bool is_on_gpu(const Experiment& experiment) {
  return experiment.device.type != QUENCH_DEVICE_CPU;
}

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

MetricMemory metric_memory_of(Catalog& catalog, const Experiment& experiment,
                              const HubEnvironment& hub) {
  MetricMemory out{0, 0, std::vector<MetricPeak>(experiment.metrics.size())};
  const bool on_gpu = is_on_gpu(experiment);
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

// How many quantizers share the pass of `cell`.
uint64_t settings_of(const Experiment& experiment, const QuantizerCell& cell,
                     QuantizerInstances& quantizers) {
  if (!cell.calibration || cell.transform) {
    return 1;
  }
  std::vector<QuantizerHandle*> together = {&quantizers.of(cell)};
  if (!can_share_pass(together)) {
    return 1;
  }
  for (const QuantizerCell& other : experiment.quantizers) {
    if (&other != &cell && other.plugin == cell.plugin && !other.transform &&
        other.store_as == cell.store_as && other.calibration &&
        other.calibration->name == cell.calibration->name) {
      together.push_back(&quantizers.of(other));
      if (!can_share_pass(together)) {
        together.pop_back();
      }
    }
  }
  return together.size();
}

PassWork work_of(const Experiment& experiment, const QuantizerCell& cell,
                 const ModelHandle& model) {
  PassWork work;
  work.on_gpu = is_on_gpu(experiment);
  if (cell.calibration) {
    const auto positions = static_cast<uint64_t>(std::max<int64_t>(model.info().max_positions, 0));
    work.tokens = calibration_tokens(*cell.calibration);
    work.longest = cell.calibration->length > 0 ? cell.calibration->length : positions;
  }
  for (const MetricCell& metric : experiment.metrics) {
    if (metric.scope.fused) {
      work.scored.push_back(kTokensOfUnknownText);
    }
  }
  return work;
}

}  // namespace

std::vector<MetricMemory> predict_metric_memory(Catalog& catalog,
                                                const std::vector<Experiment>& experiments,
                                                const HubEnvironment& hub) {
  std::vector<MetricMemory> out;
  for (const Experiment& experiment : experiments) {
    out.push_back(metric_memory_of(catalog, experiment, hub));
  }
  return out;
}

std::vector<PassPeak> predict_pass_peaks(Catalog& catalog, const Experiment& experiment,
                                         const HubEnvironment& hub) {
  std::vector<PassPeak> out(experiment.quantizers.size());
  if (out.empty()) {
    return out;
  }
  QuantizerInstances quantizers(catalog);
  const std::optional<QuantizerHandle> judge = find_judge(catalog);
  DescribedModels described = describe_models(catalog, experiment, hub);
  for (size_t q = 0; q < out.size(); ++q) {
    const QuantizerCell& cell = experiment.quantizers[q];
    for (DescribedModel& each : described.models) {
      try {
        const uint64_t parameters = parameter_count(each.model);
        PassWork work = work_of(experiment, cell, each.model);
        work.settings = settings_of(experiment, cell, quantizers);
        work.judge = cell.calibration && judge ? &*judge : nullptr;
        const PassMemory memory = predict_pass_memory(each.model, quantizers.of(cell), work);
        PassPeak& peak = out[q];
        peak.parameters = std::max(peak.parameters, parameters);
        peak.host =
            std::max(peak.host, is_on_gpu(experiment) ? memory.beside_gpu() : memory.total());
        if (is_on_gpu(experiment)) {
          peak.device = std::max(peak.device, memory.on_gpu());
          peak.device_by_block = std::max(peak.device_by_block, memory.on_gpu_by_block());
        }
        peak.visiting =
            std::max(peak.visiting, visiting_elements(each.model) * dtype_size(experiment.dtype));
      } catch (const Error&) {  // the checks of a run report what is wrong
        continue;
      }
    }
  }
  return out;
}

}  // namespace quench
