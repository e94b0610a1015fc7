#include "core/pass/linear_quantization.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/device_tensor.hpp"
#include "core/pass/channel_scale.hpp"
#include "core/pass/codebook.hpp"
#include "core/pass/pass_memory.hpp"
#include "core/pass/store_layer.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "quench/abi/kind/model.h"

namespace quench {

namespace {

template <typename Op>
struct NamedOp {
  Op op;
  std::string label;
  std::string linear;
};

template <typename Op, typename Function, typename... Args>
quench_status call_named(void* context, Function Op::*function, const char* what,
                         quench_error* error, Args... args) noexcept {
  const auto& own = *static_cast<const NamedOp<Op>*>(context);
  return guarded(error, [&] {
    quench_error said{sizeof said, 0, {}};
    const PluginCall call(own.label.c_str(), what, {own.linear.c_str()});
    const quench_status status = (own.op.*function)(own.op.context, args..., &said);
    if (status != QUENCH_OK) {
      said.message[sizeof said.message - 1] = '\0';
      fail(status, "{}", said.message);
    }
  });
}

template <typename Op>
void release_named(void* context) noexcept {
  const std::unique_ptr<NamedOp<Op>> own(static_cast<NamedOp<Op>*>(context));
  if (own->op.release != nullptr) {
    const PluginCall call(own->label.c_str(), "release");
    own->op.release(own->op.context);
  }
}

// Wraps an operation in a call of the quantizer `label` ("quantizer int8") at `linear`: reports
// about the plugin at work then name it instead of the model, and it leaves the floating-point
// state unchanged. Takes ownership of `op`.
quench_linear_op named_op(const quench_linear_op& op, std::string label, std::string linear) {
  using Named = NamedOp<quench_linear_op>;
  quench_linear_op named = {
      sizeof(quench_linear_op), new Named{op, std::move(label), std::move(linear)},
      [](void* context, const quench_tensor* x, const quench_tensor* y, void* stream,
         quench_error* error) noexcept {
        return call_named(context, &quench_linear_op::apply, "linear op", error, x, y, stream);
      },
      release_named<quench_linear_op>, nullptr};
  if (op.inputs != nullptr) {
    named.inputs = [](void* context, const quench_tensor* x, const quench_tensor* rounded,
                      void* stream, quench_error* error) noexcept {
      return call_named(context, &quench_linear_op::inputs, "linear op", error, x, rounded, stream);
    };
  }
  return named;
}

quench_cache_op named_op(const quench_cache_op& op, std::string label, std::string linear) {
  using Named = NamedOp<quench_cache_op>;
  return {sizeof(quench_cache_op), new Named{op, std::move(label), std::move(linear)},
          [](void* context, const quench_cache_args* args, quench_error* error) noexcept {
            return call_named(context, &quench_cache_op::apply, "cache op", error, args);
          },
          release_named<quench_cache_op>};
}

// Quantizers work on float32, or on float64 if the model does.
quench_dtype weight_dtype(quench_dtype model) {
  return same_dtype(model, kFloat64) ? kFloat64 : kFloat32;
}

// The weight times the group's input scale, if it has one.
HostTensor scaled(HostTensor weight, const ObservedGroup& group) {
  if (group.input_scale() != nullptr) {
    multiply_columns(weight, *group.input_scale());
  }
  return weight;
}

// Room for a result, filled with a NaN that arithmetic does not make.
HostTensor unwritten(const HostTensor& like) {
  HostTensor out(like.dtype(), like.shape());
  std::memset(out.bytes().data(), 0xFF, out.bytes().size());
  return out;
}

bool is_unwritten(const HostTensor& tensor, int64_t element) {
  const uint64_t size = dtype_size(tensor.dtype());
  const auto bytes = tensor.bytes().subspan(static_cast<uint64_t>(element) * size, size);
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0xFF}; });
}

uint64_t weights_of(const quench_linear_info& linear) {
  return static_cast<uint64_t>(linear.out_features) * static_cast<uint64_t>(linear.in_features);
}

LayerResult layer_of(const quench_linear_info& linear, uint32_t block) {
  LayerResult layer;
  layer.name = linear.name;
  layer.block = block;
  layer.out_features = linear.out_features;
  layer.in_features = linear.in_features;
  return layer;
}

// Whether a quantizer gives a weight: in place of the float one, or beside an op, for derivatives.
bool has_weight(const std::optional<quench_linear_op>& op) {
  return !op || op->inputs != nullptr;
}

// What a codebook tells of itself: its size, and its bits unless the quantizer counts them.
void count_codebook(QuantizeSink& sink, const quench_linear_info& linear) {
  if (const std::optional<Codebook> codebook = codebook_of(sink, linear)) {
    sink.numbers.try_emplace("entries", static_cast<double>(codebook->entries));
    sink.numbers.try_emplace("bits_per_weight", codebook->bits_per_weight());
  }
}

// Moves numbers named "seconds.x" out of a layer and into the clock under "x".
void take_times(LayerResult& layer, PassClock& clock) {
  constexpr std::string_view kPrefix = "seconds.";
  for (auto it = layer.numbers.begin(); it != layer.numbers.end();) {
    if (it->first.starts_with(kPrefix)) {
      clock.add_detail(it->first.substr(kPrefix.size()), it->second);
      it = layer.numbers.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace

LinearQuantization::LinearQuantization(ModelHandle& model, const QuantizeOptions& options,
                                       FloatWeights& kept, PassSettings& settings, PassClock& clock)
    : model_(model),
      options_(options),
      kept_(kept),
      settings_(settings),
      clock_(clock),
      keeps_on_device_(keeps_weights_on_device(model)) {}

HostTensor LinearQuantization::float_weight(const quench_linear_info& linear) const {
  HostTensor weight(weight_dtype(model_.info().dtype), {linear.out_features, linear.in_features});
  model_.weight_get(linear.weight, weight.view());
  if (const int64_t at = first_nonfinite(weight); at >= 0) {
    fail(QUENCH_NUMERICAL, "{}: element [{}, {}] is not finite", linear.weight,
         at / linear.in_features, at % linear.in_features);
  }
  return weight;
}

DeviceTensor LinearQuantization::device_weight(const quench_linear_info& linear) const {
  DeviceTensor weight(model_, weight_dtype(model_.info().dtype),
                      {linear.out_features, linear.in_features});
  model_.weight_get(linear.weight, weight.view());
  return weight;
}

void LinearQuantization::prepare_group(ObservedGroup& group) {
  std::vector<std::variant<HostTensor, DeviceTensor>> weights;
  std::vector<quench_tensor> views;
  const bool stays = stays_on_device(group);
  weights.reserve(group.info().linear_count);  // a view points into its tensor
  settings_.for_each([&](PassSetting& setting) {
    if (!setting.quantizer->wants_group_weights()) {
      return;
    }
    for (uint32_t l = static_cast<uint32_t>(views.size()); l < group.info().linear_count; ++l) {
      const quench_linear_info& linear = group.info().linears[l];
      if (stays) {
        weights.emplace_back(device_weight(linear));
      } else {
        weights.emplace_back(scaled(float_weight(linear), group));
      }
      views.push_back(std::visit([](auto& weight) { return weight.view(); }, weights.back()));
    }
    try {
      clock_.timed("quantize", [&] { group.prepare(*setting.quantizer, views); });
    } catch (const Error& error) {
      fail(error.code(), "{} ({})", error.what(), group.info().linears[0].name);
    }
  });
}

bool LinearQuantization::stays_on_device(const ObservedGroup& group) const {
  return model_.info().device.type != QUENCH_DEVICE_CPU && group.input_scale() == nullptr &&
         options_.store_as == nullptr && !options_.keep_tensors &&
         settings_.first().takes_device_weights();
}

void LinearQuantization::keep(const quench_linear_info& linear) {
  const quench_dtype dtype = model_.info().dtype;
  const std::vector<int64_t> shape{linear.out_features, linear.in_features};
  if (keeps_on_device_) {
    DeviceTensor value(model_, dtype, shape);
    model_.weight_get(linear.weight, value.view());
    kept_.keep(linear.weight, std::move(value));
  } else {
    HostTensor value(dtype, shape);
    model_.weight_get(linear.weight, value.view());
    kept_.keep(linear.weight, value);
  }
}

void LinearQuantization::quantize_on_device(uint32_t block, ObservedGroup& group,
                                            const quench_linear_info& linear, uint32_t index) {
  keep(linear);
  const DeviceTensor weight = device_weight(linear);
  settings_.for_each([&](PassSetting& setting) {
    const DeviceTensor dequantized(model_, weight_dtype(model_.info().dtype),
                                   {linear.out_features, linear.in_features});
    QuantizeSink sink(weights_of(linear));
    call_quantizer(setting, group, index, QUENCH_QUANTIZE_WITHOUT_CODES, weight.view(),
                   dequantized.view(), sink);
    LayerResult layer = layer_of(linear, block);
    const std::optional<quench_linear_op> op = sink.take_op();
    if (op) {
      set_op(setting, block, group, index, *op);
    } else if (options_.calibration != nullptr) {
      clock_.timed("error", [&] {
        layer.relative_error = group.relative_error(weight.view(), dequantized.view());
      });
    }
    if (has_weight(op)) {
      take_weight(setting, linear.weight, dequantized);
    }
    set_cache_op(setting, block, linear, sink);
    layer.numbers = std::move(sink.numbers);
    layer.texts = std::move(sink.texts);
    if (options_.calibration != nullptr) {
      group.describe_rows(layer);
    }
    take_times(layer, clock_);
    setting.out.result.layers.push_back(std::move(layer));
  });
}

void LinearQuantization::quantize(uint32_t block, ObservedGroup& group, uint32_t linear) {
  const quench_linear_info& info = group.info().linears[linear];
  if (stays_on_device(group)) {
    quantize_on_device(block, group, info, linear);
    return;
  }
  HostTensor found = float_weight(info);
  kept_.keep(info.weight, found);
  const HostTensor weight = scaled(std::move(found), group);
  settings_.for_each([&](PassSetting& setting) {
    setting.out.result.layers.push_back(quantize_for(setting, block, group, linear, weight));
  });
}

LayerResult LinearQuantization::quantize_for(PassSetting& setting, uint32_t block,
                                             ObservedGroup& group, uint32_t linear,
                                             const HostTensor& weight) {
  const quench_linear_info& info = group.info().linears[linear];
  const bool calibrated = options_.calibration != nullptr;
  HostTensor dequantized = unwritten(weight);
  QuantizeSink sink(weights_of(info));
  call_quantizer(setting, group, linear, 0, weight.view(), dequantized.view(), sink);
  LayerResult layer = layer_of(info, block);
  count_codebook(sink, info);
  if (setting.out.result.stored) {
    store_layer(*setting.out.result.stored, info, sink, dequantized);
  }
  const std::optional<quench_linear_op> op = sink.take_op();
  if (op) {
    set_op(setting, block, group, linear, *op);
  }
  if (has_weight(op)) {
    if (const int64_t at = first_nonfinite(dequantized); at >= 0) {
      fail(QUENCH_NUMERICAL, "quantizer {}: {}: dequantized element [{}, {}] is not {}",
           setting.quantizer->id(), info.name, at / info.in_features, at % info.in_features,
           is_unwritten(dequantized, at) ? "written" : "finite");
    }
    if (calibrated && !op) {
      clock_.timed("error", [&] {
        layer.relative_error = group.relative_error(weight.view(), dequantized.view());
      });
    }
    if (group.input_scale() != nullptr) {
      divide_columns(dequantized, *group.input_scale());
    }
    take_weight(setting, info.weight, dequantized);
  }
  set_cache_op(setting, block, info, sink);
  layer.numbers = std::move(sink.numbers);
  layer.texts = std::move(sink.texts);
  if (calibrated) {
    group.describe_rows(layer);
  }
  take_times(layer, clock_);
  if (options_.keep_tensors) {
    layer.tensors = std::move(sink.tensors);
    layer.tensors["weight"] = std::move(dequantized);
  }
  return layer;
}

void LinearQuantization::call_quantizer(PassSetting& setting, ObservedGroup& group, uint32_t linear,
                                        uint32_t flags, const quench_tensor& weight,
                                        const quench_tensor& dequantized, QuantizeSink& sink) {
  try {
    clock_.timed("quantize", [&] {
      group.quantize(*setting.quantizer, {sizeof(quench_quantize_args), flags, linear, &weight,
                                          &dequantized, sink.get(), nullptr});
    });
    sink.require_room("quantizer " + setting.quantizer->id());
  } catch (const Error& error) {
    fail(error.code(), "{} ({})", error.what(), group.info().linears[linear].name);
  }
}

void LinearQuantization::set_op(const PassSetting& setting, uint32_t block,
                                const ObservedGroup& group, uint32_t linear, quench_linear_op op) {
  const char* name = group.info().linears[linear].name;
  if (settings_.rows_from() == RowsFrom::kFloat) {
    op.release(op.context);
    fail(QUENCH_UNSUPPORTED, "quantizer {}: {}: an op cannot wait for the end of a float pass",
         setting.quantizer->id(), name);
  }
  op = named_op(op, "quantizer " + setting.quantizer->id(), name);
  if (group.input_scale() != nullptr) {
    op = divided_inputs(model_, op, *group.input_scale());
  }
  kept_.set_op(block, group.index(), linear, op);
}

void LinearQuantization::set_cache_op(const PassSetting& setting, uint32_t block,
                                      const quench_linear_info& linear, QuantizeSink& sink) {
  const std::optional<quench_cache_op> given = sink.take_cache_op();
  if (!given) {
    return;
  }
  const std::string label = "quantizer " + setting.quantizer->id();
  const quench_cache_op op = named_op(*given, label, linear.name);
  if (settings_.rows_from() == RowsFrom::kFloat) {
    op.release(op.context);
    fail(QUENCH_UNSUPPORTED, "{}: an op on keys and values cannot wait for the end of a float pass",
         label);
  }
  kept_.set_cache_op(block, op);
}

void LinearQuantization::take_weight(PassSetting& setting, const std::string& name,
                                     const DeviceTensor& dequantized) {
  const quench_tensor view = dequantized.view();
  if (settings_.rows_from() == RowsFrom::kFloat) {
    HostTensor waiting(view.dtype, {view.shape, view.shape + view.dimensions});
    model_.copy(view, waiting.view());
    setting.out.weights.emplace_back(name, std::move(waiting));
  } else {
    model_.weight_set(name, view);
  }
}

void LinearQuantization::take_weight(PassSetting& setting, const std::string& name,
                                     const HostTensor& dequantized) {
  if (settings_.rows_from() == RowsFrom::kFloat) {
    setting.out.weights.emplace_back(name, dequantized);
  } else {
    model_.weight_set(name, dequantized.view());
  }
}

}  // namespace quench
