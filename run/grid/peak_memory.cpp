#include "run/grid/pass_peaks.hpp"

#include <algorithm>
#include <optional>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/pass/judge.hpp"
#include "core/pass/pass_memory.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "run/grid/estimate.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

namespace {

bool is_on_gpu(const Experiment& experiment) {
  return experiment.device.type != QUENCH_DEVICE_CPU;
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
