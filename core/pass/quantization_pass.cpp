#include "core/pass/quantization_pass.hpp"

#include <ctime>

#include "core/checkpoint/dtype.hpp"
#include "core/pass/named_op.hpp"
#include "core/pass/pass_memory.hpp"
#include "core/pass/pass_replay.hpp"
#include "core/pass/store_layer.hpp"
#include "core/plugin/at_work.hpp"
#include "core/plugin/host_services.hpp"
#include "quench/abi/extension/head.h"

namespace quench {

namespace {

constexpr uint64_t kWorthSaying = uint64_t{2} << 30;  // bytes of a pass that people plan for

// Quantizers work on float32, or on float64 where the model does.
quench_dtype weight_dtype(quench_dtype model) {
  return same_dtype(model, kFloat64) ? kFloat64 : kFloat32;
}

void stop_if_asked() {
  if (HostServices::instance().cancel_flag()) {
    fail(QUENCH_CANCELLED, "stopped on request");
  }
}

RowsFrom rows_from(uint32_t needs) {
  return (needs & QUENCH_NEEDS_FLOAT_ROWS) != 0   ? RowsFrom::kFloat
         : (needs & QUENCH_NEEDS_BLOCK_ROWS) != 0 ? RowsFrom::kFloatBlock
                                                  : RowsFrom::kQuantized;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Moves numbers called "seconds.x" out of a layer, into `seconds` under "x".
void take_times(LayerResult& layer, std::map<std::string, double>& seconds) {
  constexpr std::string_view kPrefix = "seconds.";
  for (auto it = layer.numbers.begin(); it != layer.numbers.end();) {
    if (it->first.starts_with(kPrefix)) {
      seconds[it->first.substr(kPrefix.size())] += it->second;
      it = layer.numbers.erase(it);
    } else {
      ++it;
    }
  }
}

double mean_bits(const QuantizationResult& result, const std::string& quantizer) {
  double bits = 0;
  double weights = 0;
  for (const LayerResult& layer : result.layers) {
    const auto found = layer.numbers.find("bits_per_weight");
    if (found == layer.numbers.end()) {
      fail(QUENCH_INTERNAL, "quantizer {}: {}: reported no bits_per_weight", quantizer, layer.name);
    }
    const double count = static_cast<double>(layer.out_features * layer.in_features);
    bits += found->second * count;
    weights += count;
  }
  return weights > 0 ? bits / weights : 0;
}

// "lm_head.weight" -> "lm_head".
std::string module_of(const std::string& parameter) {
  constexpr std::string_view kEnding = ".weight";
  return parameter.ends_with(kEnding) ? parameter.substr(0, parameter.size() - kEnding.size())
                                      : parameter;
}

}  // namespace

template <typename Body>
void QuantizationPass::timed(const char* part, Body body) {
  const Clock::time_point start = Clock::now();
  const double processor = processor_seconds();
  body();
  counts_.cpu_seconds[part] += processor_seconds() - processor;
  counts_.seconds[part] += std::chrono::duration<double>(Clock::now() - start).count();
}

QuantizationPass::QuantizationPass(ModelHandle& model, std::span<QuantizerHandle* const> quantizers,
                                   const QuantizeOptions& options, FloatWeights& kept)
    : model_(model),
      options_(options),
      kept_(kept),
      rows_from_(quench::rows_from(quantizers[0]->needs())) {
  for (QuantizerHandle* quantizer : quantizers) {
    PassSetting& setting = settings_.emplace_back();
    setting.quantizer = quantizer;
    if (options.store_as != nullptr) {
      setting.out.result.stored = std::make_shared<FormatWriter>(*options.store_as);
    }
    for (const ScoreRequest& request : options.rides) {
      setting.rides.emplace_back(model, request);
    }
  }
  counts_.settings = quantizers.size();
}

void QuantizationPass::run() {
  const Clock::time_point start = Clock::now();
  const double processor = processor_seconds();
  counts_.predicted_peak_bytes =
      resident_memory_bytes() +
      predict_pass_memory(model_, *settings_[0].quantizer, settings_.size(), options_).total();
  if (counts_.predicted_peak_bytes > kWorthSaying) {
    HostServices::instance().log(
        QUENCH_LOG_INFO, "",
        fmt::format("peak memory of the pass: {:.1f} GB predicted",
                    static_cast<double>(counts_.predicted_peak_bytes) / 1e9));
  }
  forget_peak_memory();
  if (options_.calibration != nullptr) {
    open_streams();
  }
  if (float_stream_) {  // before the embedding is quantized
    timed("float forward", [&] {
      for (size_t b = 0; b < float_stream_->batches().size(); ++b) {
        float_stream_->embed(b);
      }
    });
  }
  if ((needs() & QUENCH_QUANTIZES_EMBEDDING) != 0) {
    quantize_embedding();
  }
  if (stream_) {
    timed("forward", [&] {
      for (size_t b = 0; b < stream_->batches().size(); ++b) {
        stream_->embed(b);
      }
    });
  }
  ride_embed();
  for (uint32_t block = 0; block < model_.info().blocks; ++block) {
    run_block(block);
  }
  if ((needs() & QUENCH_QUANTIZES_HEAD) != 0) {
    quantize_head();
  }
  ride_finish();
  counts_.cpu_seconds["all"] = processor_seconds() - processor;
  counts_.seconds["all"] = std::chrono::duration<double>(Clock::now() - start).count();
  finish();
}

void QuantizationPass::open_streams() {
  const CalibrationRows& rows = *options_.calibration;
  stream_.emplace(model_, rows.ids, rows.starts, rows.texts);
  counts_.calibration_tokens = rows.starts.back();
  counts_.calibration_pads = rows.pads();
  if ((needs() & QUENCH_NEEDS_FLOAT_STREAM) != 0) {
    float_stream_.emplace(model_, rows.ids, rows.starts, rows.texts);
  }
}

void QuantizationPass::run_block(uint32_t block) {
  const std::vector<size_t> before = made_so_far();
  const uint32_t stages = model_.block(block).stage_count;
  if (rows_from_ == RowsFrom::kFloatBlock) {
    run_float_block(block);
    report(block, stages - 1, stages);
  } else {
    for (uint32_t stage = 0; stage < stages; ++stage) {
      run_stage(block, stage);
      report(block, stage, stages);
    }
  }
  with_weights(before, [&](PassSetting& setting) {
    for (ScoreRide& ride : setting.rides) {
      timed("ride", [&] { ride.block(block); });
      setting.out.result.ride_tokens += block == 0 ? ride.tokens() : 0;
    }
  });
}

// The rows of a stage's groups, then those groups' linears. The next stage runs on the quantized
// weights, unless rows come from the float model. The float stream is one stage ahead: it has
// passed through a group's linears before they are quantized.
void QuantizationPass::run_stage(uint32_t block, uint32_t stage) {
  std::vector<ObservedGroup> groups = begin_groups(block, stage);
  if (stage == 0) {
    advance_float(block, 0);
  }
  advance(block, stage, groups);
  if (stage + 1 < model_.block(block).stage_count) {
    advance_float(block, stage + 1);
  }
  quantize_groups(block, stage, groups);
}

void QuantizationPass::run_float_block(uint32_t block) {
  const uint32_t stages = model_.block(block).stage_count;
  std::vector<ObservedGroup> groups;
  if (stream_) {
    stream_->keep();
  }
  for (uint32_t stage = 0; stage < stages; ++stage) {
    std::vector<ObservedGroup> fed = begin_groups(block, stage);
    advance_float(block, stage);
    advance(block, stage, fed);
    std::move(fed.begin(), fed.end(), std::back_inserter(groups));
  }
  quantize_groups(block, stages - 1, groups);
  if (stream_) {
    stream_->rewind();
    std::vector<ObservedGroup> none;
    for (uint32_t stage = 0; stage < stages; ++stage) {
      advance(block, stage, none);
    }
  }
}

std::vector<ObservedGroup> QuantizationPass::begin_groups(uint32_t block, uint32_t stage) {
  const quench_block_info& info = model_.block(block);
  std::vector<ObservedGroup> groups;
  groups.reserve(info.group_count);
  for (uint32_t g = 0; g < info.group_count; ++g) {
    if (info.groups[g].stage == stage) {
      const std::vector<double>* scale = nullptr;
      if (options_.input_scales != nullptr) {
        const auto found = options_.input_scales->find({block, g});
        scale = found != options_.input_scales->end() ? &found->second : nullptr;
      }
      groups.emplace_back(info.groups[g], block, g, model_.info().device, *settings_[0].quantizer,
                          stream_ ? options_.judge : nullptr, scale);
    }
  }
  return groups;
}

void QuantizationPass::advance(uint32_t block, uint32_t stage, std::vector<ObservedGroup>& groups) {
  if (!stream_) {
    return;
  }
  for (size_t b = 0; b < stream_->batches().size(); ++b) {
    stop_if_asked();
    timed("forward", [&] { stream_->stage(b, block, stage); });
    const MicroBatch& batch = stream_->batches()[b];
    counts_.stage_tokens += batch.rows.size() * static_cast<uint64_t>(batch.length);
    timed("observe", [&] {
      const std::vector<quench_tensor> carried = stream_->carried(b);
      std::vector<quench_tensor> float_carried;
      if (float_stream_) {
        float_carried = float_stream_->carried(b);
      }
      StageRoutes routes(model_, carried);
      for (ObservedGroup& group : groups) {
        group.observe(carried, routes, float_stream_ ? &float_carried : nullptr);
      }
    });
  }
  for (ObservedGroup& group : groups) {
    group.close_rows();
    counts_.observed_groups += group.unreached() ? 0 : 1;
    counts_.routed_groups += group.routed() ? 1 : 0;
    counts_.unreached_groups += group.unreached() ? 1 : 0;
    counts_.thin_groups += group.thin() ? 1 : 0;
  }
}

void QuantizationPass::advance_float(uint32_t block, uint32_t stage) {
  if (!float_stream_) {
    return;
  }
  for (size_t b = 0; b < float_stream_->batches().size(); ++b) {
    stop_if_asked();
    timed("float forward", [&] { float_stream_->stage(b, block, stage); });
    const MicroBatch& batch = float_stream_->batches()[b];
    counts_.float_stage_tokens += batch.rows.size() * static_cast<uint64_t>(batch.length);
  }
}

void QuantizationPass::quantize_groups(uint32_t block, uint32_t stage,
                                       std::vector<ObservedGroup>& groups) {
  std::optional<PassReplay> replay;
  std::optional<OfferedReplay> offered;
  if (stream_ && (needs() & QUENCH_NEEDS_BLOCK_REPLAY) != 0) {
    replay.emplace(model_, *stream_, block, stage + 1, rows_from_ == RowsFrom::kFloatBlock);
    offered.emplace(*replay);
  }
  for (ObservedGroup& group : groups) {
    prepare_group(group);
    for (uint32_t linear = 0; linear < group.info().linear_count; ++linear) {
      quantize_linear(block, group, linear);
    }
  }
}

template <typename Body>
void QuantizationPass::for_each_setting(Body body) {
  for (size_t i = 0; i < settings_.size(); ++i) {
    PassSetting& setting = settings_[i];
    stop_if_asked();
    if (setting.out.error) {
      continue;
    }
    std::optional<CellsAtWork> at_work;
    if (i < options_.setting_keys.size()) {
      at_work.emplace(options_.setting_keys[i]);
    }
    try {
      body(setting);
    } catch (const Error& error) {
      if (settings_.size() == 1 || HostServices::instance().cancel_flag()) {
        throw;
      }
      setting.out.error = error;
      setting.out.weights.clear();
    }
  }
}

HostTensor QuantizationPass::float_weight(const quench_linear_info& linear) const {
  HostTensor weight(weight_dtype(model_.info().dtype), {linear.out_features, linear.in_features});
  model_.weight_get(linear.weight, weight.view());
  if (const int64_t at = first_nonfinite(weight); at >= 0) {
    fail(QUENCH_NUMERICAL, "{}: element [{}, {}] is not finite", linear.weight,
         at / linear.in_features, at % linear.in_features);
  }
  return weight;
}

HostTensor QuantizationPass::scaled(HostTensor weight, const ObservedGroup& group) {
  if (group.input_scale() != nullptr) {
    multiply_columns(weight, *group.input_scale());
  }
  return weight;
}

// Where some setting decides for the group as a whole.
void QuantizationPass::prepare_group(ObservedGroup& group) {
  std::vector<HostTensor> weights;
  std::vector<quench_tensor> views;
  for_each_setting([&](PassSetting& setting) {
    if (!setting.quantizer->wants_group_weights()) {
      return;
    }
    for (uint32_t l = static_cast<uint32_t>(views.size()); l < group.info().linear_count; ++l) {
      weights.push_back(scaled(float_weight(group.info().linears[l]), group));
      views.push_back(weights.back().view());
    }
    try {
      timed("quantize", [&] { group.prepare(*setting.quantizer, views); });
    } catch (const Error& error) {
      fail(error.code(), "{} ({})", error.what(), group.info().linears[0].name);
    }
  });
}

void QuantizationPass::quantize_linear(uint32_t block, ObservedGroup& group, uint32_t linear) {
  const quench_linear_info& info = group.info().linears[linear];
  HostTensor found = float_weight(info);
  kept_.keep(info.weight, found);
  const HostTensor weight = scaled(std::move(found), group);
  for_each_setting([&](PassSetting& setting) {
    setting.out.result.layers.push_back(quantize_for(setting, block, group, linear, weight));
  });
}

LayerResult QuantizationPass::quantize_for(PassSetting& setting, uint32_t block,
                                           ObservedGroup& group, uint32_t linear,
                                           const HostTensor& weight) {
  const quench_linear_info& info = group.info().linears[linear];
  HostTensor dequantized(weight.dtype(), weight.shape());
  const quench_tensor weight_view = weight.view();
  const quench_tensor dequantized_view = dequantized.view();
  QuantizeSink sink;
  try {
    timed("quantize", [&] {
      group.quantize(*setting.quantizer, {sizeof(quench_quantize_args), 0, linear, &weight_view,
                                          &dequantized_view, sink.get(), nullptr});
    });
  } catch (const Error& error) {
    fail(error.code(), "{} ({})", error.what(), info.name);
  }
  LayerResult layer;
  layer.name = info.name;
  layer.block = block;
  layer.out_features = info.out_features;
  layer.in_features = info.in_features;
  if (setting.out.result.stored) {
    store_layer(*setting.out.result.stored, info, sink, dequantized);
  }
  if (std::optional<quench_linear_op> op = sink.take_op()) {
    if (rows_from_ == RowsFrom::kFloat) {
      op->release(op->context);
      fail(QUENCH_UNSUPPORTED, "quantizer {}: {}: an op cannot wait for the end of a float pass",
           setting.quantizer->id(), info.name);
    }
    op = named_op(*op, "quantizer " + setting.quantizer->id(), info.name);
    if (group.input_scale() != nullptr) {
      op = divided_inputs(*op, *group.input_scale());
    }
    model_.set_linear_op(block, group.index(), linear, &*op);
    kept_.keep_op(block, group.index(), linear);
  } else {
    if (const int64_t at = first_nonfinite(dequantized); at >= 0) {
      fail(QUENCH_NUMERICAL, "quantizer {}: {}: dequantized element [{}, {}] is not finite",
           setting.quantizer->id(), info.name, at / info.in_features, at % info.in_features);
    }
    if (stream_) {
      timed("error",
            [&] { layer.relative_error = group.relative_error(weight_view, dequantized_view); });
    }
    if (group.input_scale() != nullptr) {
      divide_columns(dequantized, *group.input_scale());
    }
    take_weight(setting, info.weight, dequantized);
  }
  layer.numbers = std::move(sink.numbers);
  layer.texts = std::move(sink.texts);
  if (stream_) {
    group.describe_rows(layer);
  }
  take_times(layer, counts_.seconds);
  if (options_.keep_tensors) {
    layer.tensors = std::move(sink.tensors);
    layer.tensors["weight"] = std::move(dequantized);
  }
  return layer;
}

void QuantizationPass::take_weight(PassSetting& setting, const std::string& name,
                                   const HostTensor& dequantized) {
  if (rows_from_ == RowsFrom::kFloat) {
    setting.out.weights.emplace_back(name, dequantized);
  } else {
    model_.weight_set(name, dequantized.view());
  }
}

void QuantizationPass::quantize_embedding() {
  for (const quench_parameter_info& parameter : model_.parameters()) {
    if (parameter.role == QUENCH_ROLE_EMBEDDING && parameter.dimensions == 2 &&
        parameter.shape[1] == model_.info().width) {
      const std::string note =
          parameter.alias_count > 0 ? "the output head too, which is tied to it" : "";
      quantize_parameter(parameter, "embedding", note, false);
      return;
    }
  }
  fail(QUENCH_UNSUPPORTED, "{}: names no token embedding", model_.label());
}

void QuantizationPass::quantize_head() {
  for (const quench_parameter_info& parameter : model_.parameters()) {
    if (parameter.role == QUENCH_ROLE_HEAD && parameter.dimensions == 2) {
      quantize_parameter(parameter, "head", "", stream_.has_value());
      return;
    }
  }
  fail(QUENCH_UNSUPPORTED, "{}: its output head is tied to the embedding, which `lm_head` leaves",
       model_.label());
}

void QuantizationPass::quantize_parameter(const quench_parameter_info& parameter, const char* role,
                                          const std::string& note, bool with_rows) {
  const std::string module = module_of(parameter.name);
  const uint32_t blocks = model_.info().blocks;
  const quench_linear_info linear{sizeof linear,  0,       module.c_str(),     role,
                                  parameter.name, nullptr, parameter.shape[0], parameter.shape[1]};
  const quench_group_info info{sizeof info, 0, 0, -1, -1, 1, &linear, 0, nullptr};
  ObservedGroup group(info, blocks, 0, model_.info().device, *settings_[0].quantizer,
                      with_rows ? options_.judge : nullptr);
  if (with_rows) {
    const auto* head =
        static_cast<const quench_model_head_rows*>(model_.extension(QUENCH_MODEL_HEAD_ROWS));
    if (head == nullptr) {
      fail(QUENCH_UNSUPPORTED, "{}: does not show the rows that its output head reads",
           model_.label());
    }
    for (size_t b = 0; b < stream_->batches().size(); ++b) {
      stop_if_asked();
      const quench_tensor h = stream_->carried(b)[0];
      const DeviceTensor rows(model_, h.dtype, {h.shape[0], h.shape[1]});
      const quench_tensor x = rows.view();
      timed("forward", [&] { model_.head_rows(*head, h, x); });
      timed("observe", [&] { group.observe_rows(x); });
    }
    ++counts_.observed_groups;
  }
  quantize_linear(blocks, group, 0);
  for (PassSetting& setting : settings_) {
    if (!setting.out.error && !note.empty()) {
      setting.out.result.layers.back().texts["tied"] = note;
    }
  }
}

std::vector<size_t> QuantizationPass::made_so_far() const {
  std::vector<size_t> counts;
  for (const PassSetting& setting : settings_) {
    counts.push_back(setting.out.weights.size());
  }
  return counts;
}

template <typename Body>
void QuantizationPass::with_weights(const std::vector<size_t>& first, Body body) {
  for (size_t i = 0; i < settings_.size(); ++i) {
    PassSetting& setting = settings_[i];
    if (setting.out.error || setting.rides.empty()) {
      continue;
    }
    for (size_t m = first[i]; m < setting.out.weights.size(); ++m) {
      model_.weight_set(setting.out.weights[m].first, setting.out.weights[m].second.view());
    }
    body(setting);
    for (size_t m = first[i]; m < setting.out.weights.size(); ++m) {
      kept_.put_back(setting.out.weights[m].first);
    }
  }
}

void QuantizationPass::ride_embed() {
  with_weights(std::vector<size_t>(settings_.size()), [&](PassSetting& setting) {
    for (ScoreRide& ride : setting.rides) {
      timed("ride", [&] { ride.embed(); });
    }
  });
}

// With the quantized head, if there is one, and the quantized embedding where it is tied.
void QuantizationPass::ride_finish() {
  with_weights(std::vector<size_t>(settings_.size()), [&](PassSetting& setting) {
    for (ScoreRide& ride : setting.rides) {
      timed("ride", [&] { setting.out.result.answers.push_back(ride.finish()); });
    }
  });
}

void QuantizationPass::report(uint32_t block, uint32_t stage, uint32_t stages) const {
  HostServices::instance().progress("", "quantizing with " + settings_[0].quantizer->id(),
                                    block * uint64_t{stages} + stage + 1,
                                    model_.info().blocks * uint64_t{stages});
}

void QuantizationPass::finish() {
  if (counts_.thin_groups > 0) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("{}: of {} groups of experts, {} were reached by fewer calibration rows than "
                    "they have columns, {} of them by none",
                    settings_[0].quantizer->id(), counts_.routed_groups, counts_.thin_groups,
                    counts_.unreached_groups));
  }
  double named = 0;
  for (const char* part : {"forward", "float forward", "observe", "quantize", "error", "ride"}) {
    named += counts_.seconds[part];
  }
  counts_.seconds["other"] = counts_.seconds["all"] - named;
  for (PassSetting& setting : settings_) {
    QuantizationResult& result = setting.out.result;
    result.calibration_tokens = counts_.calibration_tokens;
    result.calibration_pads = counts_.calibration_pads;
    result.stage_tokens = counts_.stage_tokens;
    result.float_stage_tokens = counts_.float_stage_tokens;
    result.observed_groups = counts_.observed_groups;
    result.routed_groups = counts_.routed_groups;
    result.unreached_groups = counts_.unreached_groups;
    result.thin_groups = counts_.thin_groups;
    result.settings = counts_.settings;
    result.predicted_peak_bytes = counts_.predicted_peak_bytes;
    result.peak_bytes = peak_memory_bytes();
    result.seconds = counts_.seconds;
    result.cpu_seconds = counts_.cpu_seconds;
    if (!setting.out.error) {
      result.bits_per_weight = mean_bits(result, setting.quantizer->id());
    }
  }
}

}  // namespace quench
