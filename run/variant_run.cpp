#include "run/variant_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/at_work.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/plugin_call.hpp"
#include "core/plugin/running_code.hpp"
#include "run/grid/describe_cell.hpp"

namespace quench {

namespace {

bool to_compute(std::span<const MeasuredCell> cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const MeasuredCell& each) { return each.records.empty(); });
}

}  // namespace

VariantRun::VariantRun(WeightsAtWork& weights, std::optional<OpenWeights>& open,
                       const OwedFolders& folders, QuantizeCell& quantization)
    : weights_(weights), open_(open), folders_(folders), quantization_(quantization) {}

void VariantRun::run(std::span<MeasuredCell> cells) {
  weights_.scores.set_answers({});  // the answers belong to another variant
  take_records(cells);
  const Variant& variant = cells.front().cell.variant;
  const OwedFolder* folder = open_ && !hopeless(cells) ? folders_.of(variant) : nullptr;
  if (!to_compute(cells) && folder == nullptr) {
    return;
  }
  const std::vector<std::string> keys = keys_to_do(cells);
  const CellsAtWork at_work(keys);
  if (variant.quantizer) {
    run_quantized(cells, folder);
  } else {
    measure_cells(weights_, {*open_, nullptr, nullptr, size_details({})}, cells);
  }
}

void VariantRun::take_records(std::span<MeasuredCell> cells) {
  const Experiment& experiment = weights_.job.experiment;
  for (MeasuredCell& each : cells) {
    if (each.fault) {
      each.records = weights_.keep_failure(
          each, describe_quantizer(weights_.job.run.catalog, experiment, each.cell.variant),
          *each.fault);
      continue;
    }
    weights_.job.run.history.look_again(experiment, each.cell);
    each.records = weights_.records_there(each);
  }
}

void VariantRun::run_quantized(std::span<MeasuredCell> cells, const OwedFolder* folder) {
  const Experiment& experiment = weights_.job.experiment;
  const Variant& variant = cells.front().cell.variant;
  weights_.job.run.progress.say(weights_.name + ", " +
                                experiment.quantizers[*variant.quantizer].label);
  nlohmann::json quantizer = describe_quantizer(weights_.job.run.catalog, experiment, variant);
  FloatWeights kept(open_->model);
  try {
    quantize_and_measure(cells, folder, kept, quantizer);
  } catch (...) {
    const Error error = current_error();
    kept.restore();
    weights_.job.run.keeper.throw_if_final(error);
    if (folder != nullptr) {
      folders_.tell_unwritten(folder->row, error);
    }
    for (MeasuredCell& each : cells) {
      if (each.records.empty()) {
        each.records = weights_.keep_failure(each, quantizer, error);
      }
    }
    return;
  }
  kept.restore();
}

void VariantRun::quantize_and_measure(std::span<MeasuredCell> cells, const OwedFolder* folder,
                                      FloatWeights& kept, nlohmann::json& quantizer) {
  const Experiment& experiment = weights_.job.experiment;
  const Variant& variant = cells.front().cell.variant;
  const QuantizerCell& setting = experiment.quantizers[*variant.quantizer];
  QuantizedModel result = quantization_.apply(
      setting, draw_of(experiment, variant), open_->model, *weights_.tokenizer, kept,
      to_compute(cells) ? requests(cells) : std::span<const ScoreRequest>());
  check_running_code();
  weights_.scores.set_answers(std::move(result.answers));
  quantizer["bits_per_weight"] = result.bits_per_weight;
  result.details.update(size_details({result.quantized_weights, result.bits_per_weight}));
  if (folder != nullptr) {
    folders_.write_quantized(*folder, *open_, *result.stored);
  }
  measure_cells(weights_, {*open_, &kept, quantizer, std::move(result.details)}, cells);
}

nlohmann::json VariantRun::size_details(const QuantizedShare& quantized) const {
  return weights_.stored.is_null() && std::isfinite(quantized.bits)
             ? nlohmann::json{{"stored_bytes", stored_bytes(*open_, quantized)}}
             : nlohmann::json::object();
}

std::span<const ScoreRequest> VariantRun::requests(std::span<const MeasuredCell> cells) const {
  if (weights_.scores.requests().empty() &&
      std::any_of(cells.begin(), cells.end(),
                  [&](const MeasuredCell& each) { return is_fused(weights_, each); })) {
    HostServices::instance().log(QUENCH_LOG_INFO, "",
                                 "fused scoring begins with the next quantizer: nothing has been "
                                 "scored on these weights in this run yet");
  }
  return weights_.scores.requests();
}

CalibrationDraw draw_of(const Experiment& experiment, const Variant& variant) {
  return {variant.draw, experiment.quantizers[*variant.quantizer].replicates.draws, variant.jitter,
          experiment.seed};
}

}  // namespace quench
