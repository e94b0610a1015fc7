#include "core/pass/quantize_model.hpp"

#include <algorithm>

#include "core/pass/quantization_pass.hpp"
#include "core/pass/quantize_sink.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

constexpr uint32_t kKnownNeeds =
    QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS | QUENCH_NEEDS_FLOAT_STREAM | QUENCH_NEEDS_SEQUENTIAL |
    QUENCH_NEEDS_BLOCK_REPLAY | QUENCH_MAKES_LINEAR_OP | QUENCH_NEEDS_BLOCK_ROWS |
    QUENCH_NEEDS_FLOAT_ROWS | QUENCH_QUANTIZES_HEAD | QUENCH_QUANTIZES_EMBEDDING |
    QUENCH_TAKES_DEVICE_WEIGHTS | QUENCH_MAKES_CACHE_OP;

void check_needs(const QuantizerHandle& quantizer, bool calibrated) {
  const uint32_t needs = quantizer.needs();
  if (!calibrated && (needs & QUENCH_NEEDS_ROWS) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "quantizer {}: needs calibration data and got none",
         quantizer.id());
  }
  if (const uint32_t unknown = needs & ~kKnownNeeds; unknown != 0) {
    fail(QUENCH_UNSUPPORTED, "quantizer {}: needs bits {:#x}, which this host does not know",
         quantizer.id(), unknown);
  }
}

}  // namespace

QuantizationResult quantize_model(ModelHandle& model, QuantizerHandle& quantizer,
                                  const QuantizeOptions& options, FloatWeights& kept) {
  check_needs(quantizer, options.calibration != nullptr);
  QuantizerHandle* const only = &quantizer;
  QuantizationPass pass(model, {&only, 1}, options, kept);
  pass.run();
  QuantizedSetting& out = pass.settings()[0].out;
  for (const auto& [name, value] : out.weights) {
    model.weight_set(name, value.view());  // `kept` has the float weights
  }
  return std::move(out.result);
}

bool can_share_pass(std::span<QuantizerHandle* const> quantizers) {
  return std::all_of(quantizers.begin(), quantizers.end(), [&](const QuantizerHandle* quantizer) {
    constexpr uint32_t kOwn = QUENCH_QUANTIZES_HEAD | QUENCH_QUANTIZES_EMBEDDING;
    return (quantizer->needs() & QUENCH_NEEDS_FLOAT_ROWS) != 0 &&
           (quantizer->needs() & kOwn) == (quantizers[0]->needs() & kOwn) &&
           (quantizer == quantizers[0] || quantizer->accepts_groups_of(*quantizers[0]));
  });
}

std::vector<QuantizedSetting> quantize_settings(ModelHandle& model,
                                                std::span<QuantizerHandle* const> quantizers,
                                                const QuantizeOptions& options) {
  if (quantizers.empty() || !can_share_pass(quantizers)) {
    fail(QUENCH_INVALID_ARGUMENT, "{} quantizers cannot share one pass", quantizers.size());
  }
  for (const QuantizerHandle* quantizer : quantizers) {
    check_needs(*quantizer, options.calibration != nullptr);
  }
  FloatWeights kept(model);
  QuantizationPass pass(model, quantizers, options, kept);
  try {
    pass.run();
  } catch (...) {
    kept.restore();  // fused scoring sees quantized blocks
    throw;
  }
  std::vector<QuantizedSetting> out;
  for (PassSetting& setting : pass.settings()) {
    out.push_back(std::move(setting.out));
  }
  return out;
}

void set_weights(ModelHandle& model, const QuantizedSetting& setting, FloatWeights& kept) {
  for (const auto& [name, value] : setting.weights) {
    HostTensor before(value.dtype(), value.shape());
    model.weight_get(name, before.view());
    kept.keep(name, before);
    model.weight_set(name, value.view());
  }
}

LayerResult quantize_layer(QuantizerHandle& quantizer, QuantizerHandle* judge,
                           const HostTensor& weight, const HostTensor* inputs) {
  const quench_linear_info linear{sizeof linear, 0,       "weight",          "layer",
                                  "weight",      nullptr, weight.shape()[0], weight.shape()[1]};
  const quench_group_info info{sizeof info, 0, 0, -1, -1, 1, &linear, 0, nullptr};
  const quench_group_args args{sizeof args,           0, 0, 0, &info, weight.shape()[1],
                               {QUENCH_DEVICE_CPU, 0}};
  quantizer.begin_pass();
  QuantizerHandle::Group group = quantizer.begin(args);
  std::optional<QuantizerHandle::Group> other;
  if (!group.has_gram() && judge != nullptr) {
    other.emplace(judge->begin(args));
  }
  const quench_tensor weight_view = weight.view();
  if (inputs != nullptr) {
    const quench_tensor x = inputs->view();
    const quench_observe_args observe{sizeof observe, 0, &x, nullptr, nullptr, nullptr, nullptr};
    if ((quantizer.needs() & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0) {
      group.observe(observe);
    }
    if (other) {
      other->observe(observe);
    }
  }
  HostTensor dequantized(weight.dtype(), weight.shape());
  const quench_tensor dequantized_view = dequantized.view();
  QuantizeSink sink(weight.elements());
  group.quantize(
      {sizeof(quench_quantize_args), 0, 0, &weight_view, &dequantized_view, sink.get(), nullptr});
  sink.require_room("quantizer " + quantizer.id());
  if (const std::optional<quench_linear_op> op = sink.take_op()) {
    op->release(op->context);
    fail(QUENCH_UNSUPPORTED, "quantizer {}: replaces the linear by an op, which has no codes",
         quantizer.id());
  }
  LayerResult layer;
  layer.name = "weight";
  layer.out_features = weight.shape()[0];
  layer.in_features = weight.shape()[1];
  layer.numbers = std::move(sink.numbers);
  layer.texts = std::move(sink.texts);
  layer.tensors = std::move(sink.tensors);
  const QuantizerHandle::Group* measured = group.has_gram() ? &group : other ? &*other : nullptr;
  if (inputs != nullptr && measured != nullptr) {
    const auto error = measured->output_error(weight_view, dequantized_view);
    layer.relative_error = error.reference > 0 ? error.squared_error / error.reference : 0.0;
    layer.numbers["squared_error"] = error.squared_error;
    layer.numbers["reference"] = error.reference;
  }
  layer.tensors["weight"] = std::move(dequantized);
  return layer;
}

}  // namespace quench
