#include "core/run/quantize_cell.hpp"

#include <chrono>
#include <cmath>

#include "core/json/json_number.hpp"
#include "core/run/judge.hpp"

namespace quench {

namespace {

nlohmann::json layer_json(const LayerResult& layer) {
  nlohmann::json out = {
      {"name", layer.name},
      {"relative_error", std::isnan(layer.relative_error) ? nlohmann::json(nullptr)
                                                          : json_number(layer.relative_error)}};
  for (const auto& [name, value] : layer.numbers) {
    out[name] = json_number(value);
  }
  for (const auto& [name, value] : layer.texts) {
    out[name] = value;
  }
  return out;
}

nlohmann::json details_of(const QuantizationResult& result, const QuantizerCell& cell,
                          double seconds) {
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerResult& layer : result.layers) {
    layers.push_back(layer_json(layer));
  }
  nlohmann::json out = {{"layers", layers}, {"quantize_seconds", seconds}};
  if (cell.calibration) {
    out["calibration"] = {{"name", cell.calibration->name},
                          {"tokens", result.calibration_tokens},
                          {"stage_tokens", result.stage_tokens},
                          {"observed_groups", result.observed_groups}};
    if (result.routed_groups > 0) {
      out["calibration"]["experts"] = {{"groups", result.routed_groups},
                                       {"without_rows", result.unreached_groups},
                                       {"fewer_rows_than_columns", result.thin_groups}};
    }
  }
  return out;
}

}  // namespace

QuantizedModel QuantizeCell::apply(const QuantizerCell& cell, const CalibrationDraw& draw,
                                   ModelHandle& model, TokenizerChoice& tokenizer,
                                   FloatWeights& kept) {
  const auto start = std::chrono::steady_clock::now();
  QuantizerHandle quantizer(catalog_, *cell.plugin, cell.parameters);
  QuantizeOptions options;
  CalibrationRows calibration;
  if (cell.calibration) {
    calibration = rows(cell, draw, model, tokenizer);
    options.calibration = &calibration;
    options.judge = judge();
  }
  const QuantizationResult result = quantize_model(model, quantizer, options, kept);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {result.bits_per_weight, details_of(result, cell, seconds.count())};
}

CalibrationRows QuantizeCell::rows(const QuantizerCell& cell, const CalibrationDraw& draw,
                                   ModelHandle& model, TokenizerChoice& tokenizer) {
  return corpora_.calibration_rows(*cell.calibration, tokenizer,
                                   static_cast<uint64_t>(model.info().max_positions), draw);
}

QuantizerHandle* QuantizeCell::judge() {
  if (!judge_searched_) {
    judge_searched_ = true;
    if (std::optional<QuantizerHandle> found = find_judge(catalog_)) {
      judge_.emplace(std::move(*found));
    }
  }
  return judge_ ? &*judge_ : nullptr;
}

}  // namespace quench
