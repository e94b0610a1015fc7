#include "core/pass/quantize_cell.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/json/canonical_json.hpp"
#include "core/pass/judge.hpp"
#include "core/pass/model_edit.hpp"
#include "core/plugin/calls/at_work.hpp"

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

nlohmann::json details_of(const QuantizationResult& result, const QuantizerCell& cell) {
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerResult& layer : result.layers) {
    layers.push_back(layer_json(layer));
  }
  const double settings = static_cast<double>(result.settings);
  nlohmann::json out = {
      {"layers", layers},
      {"quantize_seconds", result.seconds.at("all") / settings},
      {"pass_seconds", result.seconds},
      {"pass_cpu_seconds", result.cpu_seconds},
      {"peak_memory_bytes",
       {{"predicted", result.predicted_peak_bytes}, {"measured", result.peak_bytes}}}};
  out["pass_seconds"]["settings"] = result.settings;  // that share them
  if (result.fused_tokens > 0) {
    out["fused_tokens"] = result.fused_tokens;
  }
  if (cell.calibration) {
    out["calibration"] = {{"name", cell.calibration->name},
                          {"tokens", result.calibration_tokens},
                          {"stage_tokens", result.stage_tokens},
                          {"observed_groups", result.observed_groups}};
    if (result.calibration_pads > 0) {
      out["calibration"]["pads"] = result.calibration_pads;
    }
    if (result.float_stage_tokens > 0) {
      out["calibration"]["float_stage_tokens"] = result.float_stage_tokens;
    }
    if (result.routed_groups > 0) {
      out["calibration"]["experts"] = {{"groups", result.routed_groups},
                                       {"without_rows", result.unreached_groups},
                                       {"fewer_rows_than_columns", result.thin_groups}};
    }
  }
  return out;
}

bool same(const CalibrationDraw& a, const CalibrationDraw& b) {
  return a.draw == b.draw && a.of == b.of && a.jitter == b.jitter && a.seed == b.seed;
}

QuantizedModel quantized_model(QuantizationResult& result, const QuantizerCell& cell,
                               const Corpora& corpora) {
  QuantizedModel out;
  out.bits_per_weight = result.bits_per_weight;
  for (const LayerResult& layer : result.layers) {
    out.quantized_weights += static_cast<uint64_t>(layer.out_features * layer.in_features);
  }
  out.details = details_of(result, cell);
  const uint64_t skipped = cell.calibration ? corpora.skipped(cell.calibration->corpus.name) : 0;
  if (skipped > 0) {
    out.details["calibration"]["skipped"] = skipped;
  }
  out.stored = std::move(result.stored);
  if (out.stored && !out.stored->linears().empty()) {
    out.details["stored"] = out.stored->scales();
  }
  out.answers = std::move(result.answers);
  return out;
}

// Whether both use the same calibration, whatever the quantizer.
bool same_rows(const Quantization& a, const Quantization& b) {
  const std::optional<Calibration>& left = a.cell->calibration;
  const std::optional<Calibration>& right = b.cell->calibration;
  return left && right && same(a.draw, b.draw) && left->name == right->name &&
         left->corpus.plugin == right->corpus.plugin &&
         left->corpus.parameters == right->corpus.parameters &&
         left->documents == right->documents && left->sequences == right->sequences &&
         left->length == right->length && left->packing == right->packing &&
         left->pad_batch == right->pad_batch && left->pad_id == right->pad_id;
}

}  // namespace

void QuantizeCell::expect(std::vector<Quantization> quantizations) {
  expected_ = std::move(quantizations);
  waiting_.clear();
}

QuantizedModel QuantizeCell::apply(const QuantizerCell& cell, const CalibrationDraw& draw,
                                   ModelHandle& model, TokenizerChoice& tokenizer,
                                   FloatWeights& kept, std::span<const ScoreRequest> fused) {
  const auto turn = [&] {
    return std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
      return waiting.of.cell == &cell && same(waiting.of.draw, draw);
    });
  };
  if (turn() == waiting_.end()) {
    run_together(expected(cell, draw), model, tokenizer, fused);
  }
  const auto found = turn();
  if (found == waiting_.end()) {
    return apply_alone(cell, draw, model, tokenizer, kept, fused);
  }
  QuantizedSetting setting = std::move(found->setting);
  const nlohmann::json plan = std::move(found->plan);
  waiting_.erase(found);
  if (setting.error) {
    throw *setting.error;
  }
  set_weights(model, setting, kept);
  QuantizedModel out = quantized_model(setting.result, cell, corpora_);
  if (!plan.is_null()) {
    out.details["plan"] = plan;
  }
  return out;
}

Quantization QuantizeCell::expected(const QuantizerCell& cell, const CalibrationDraw& draw) const {
  for (const Quantization& other : expected_) {
    if (other.cell == &cell && same(other.draw, draw)) {
      return other;
    }
  }
  return {&cell, draw};
}

void QuantizeCell::run_together(const Quantization& first, ModelHandle& model,
                                TokenizerChoice& tokenizer, std::span<const ScoreRequest> fused) {
  if (!first.cell->calibration || first.cell->transform) {
    return;
  }
  std::vector<QuantizerHandle*> quantizers;
  std::vector<Quantization> together;
  const auto add = [&](const Quantization& quantization) {
    quantizers.push_back(&quantizers_.of(*quantization.cell));
    if (!can_share_pass(quantizers)) {
      quantizers.pop_back();
      return;
    }
    together.push_back(quantization);
  };
  add(first);
  for (const Quantization& other : expected_) {
    if (!together.empty() && !other.cell->transform && other.cell != first.cell &&
        other.cell->plugin == first.cell->plugin && other.cell->store_as == first.cell->store_as &&
        same_rows(first, other)) {
      try {
        add(other);
      } catch (const Error&) {  // its own cells report it; its process may have had `first`, too
        return;
      }
    }
  }
  if (together.size() < 2) {
    return;
  }
  const CalibrationRows calibration = rows(*first.cell, first.draw, model, tokenizer);
  QuantizeOptions options;
  options.calibration = &calibration;
  options.judge = judge_for(*first.cell);
  const std::optional<FormatHandle> format = format_of(*first.cell);
  options.store_as = format ? &*format : nullptr;
  options.fused = fused;
  std::vector<std::string> keys;
  for (const Quantization& quantization : together) {
    options.setting_keys.emplace_back(quantization.keys);
    keys.insert(keys.end(), quantization.keys.begin(), quantization.keys.end());
  }
  const CellsAtWork all(keys);
  std::vector<QuantizedSetting> settings = quantize_settings(model, quantizers, options);
  for (size_t i = 0; i < together.size(); ++i) {
    Waiting& waiting = waiting_.emplace_back(Waiting{together[i], std::move(settings[i]), {}});
    if (!waiting.setting.error) {
      try {
        waiting.plan = check_plan(*quantizers[i], model, &calibration);
      } catch (const Error& error) {
        waiting.setting.error = error;
        waiting.setting.weights.clear();
      }
    }
  }
}

QuantizedModel QuantizeCell::apply_alone(const QuantizerCell& cell, const CalibrationDraw& draw,
                                         ModelHandle& model, TokenizerChoice& tokenizer,
                                         FloatWeights& kept, std::span<const ScoreRequest> fused) {
  QuantizerHandle& quantizer = quantizers_.of(cell);
  QuantizeOptions options;
  const std::optional<FormatHandle> format = format_of(cell);
  options.store_as = format ? &*format : nullptr;
  options.fused = fused;
  CalibrationRows calibration;
  if (cell.calibration) {
    calibration = rows(cell, draw, model, tokenizer);
    options.calibration = &calibration;
    options.judge = judge_for(cell);
  }
  nlohmann::json transformed;
  ModelEdits edits;
  if (cell.transform) {
    if (cell.store_as != nullptr) {
      fail(QUENCH_UNSUPPORTED,
           "transform {}: also changes weights that stay in float, which the file takes from the "
           "checkpoint",
           cell.transform->plugin->id);
    }
    TransformHandle transform(catalog_, *cell.transform->plugin, cell.transform->parameters);
    edits = apply_transform(model, transform, options.calibration, kept);
    transformed = describe_edits(edits);
    options.input_scales = &edits.scales;
    kept.open_layer();
  }
  QuantizationResult result = quantize_model(model, quantizer, options, kept);
  QuantizedModel out = quantized_model(result, cell, corpora_);
  if (quantizer.has_plan()) {
    kept.during_exchange(
        [&] { out.details["plan"] = check_plan(quantizer, model, options.calibration); });
  }
  if (!transformed.is_null()) {
    out.details["transform"] = transformed;
  }
  return out;
}

nlohmann::json QuantizeCell::check_plan(QuantizerHandle& quantizer, ModelHandle& model,
                                        const CalibrationRows* calibration) {
  if (!quantizer.has_plan()) {
    return nullptr;
  }
  FloatWeights replaced(model);
  const ModelEdits edits = edit_model(
      model, "quantizer " + quantizer.id(),
      [&](const quench_model_editor& editor) { quantizer.apply_plan(editor); }, calibration,
      replaced);
  replaced.restore();
  return describe_edits(edits);
}

CalibrationRows QuantizeCell::rows(const QuantizerCell& cell, const CalibrationDraw& draw,
                                   ModelHandle& model, TokenizerChoice& tokenizer) {
  return corpora_.calibration_rows(*cell.calibration, tokenizer,
                                   static_cast<uint64_t>(model.info().max_positions), draw);
}

std::optional<FormatHandle> QuantizeCell::format_of(const QuantizerCell& cell) {
  return cell.store_as != nullptr
             ? std::optional<FormatHandle>(std::in_place, catalog_, *cell.store_as)
             : std::nullopt;
}

QuantizerHandle* QuantizeCell::judge_for(const QuantizerCell& cell) {
  if (quantizers_.of(cell).has_gram()) {
    return nullptr;
  }
  if (!judge_searched_) {
    judge_searched_ = true;
    if (std::optional<QuantizerHandle> found = find_judge(catalog_)) {
      judge_.emplace(std::move(*found));
    }
  }
  return judge_ ? &*judge_ : nullptr;
}

}  // namespace quench
