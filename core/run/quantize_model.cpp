#include "core/run/quantize_model.hpp"

#include <algorithm>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "core/run/activation_stream.hpp"
#include "core/run/quantize_sink.hpp"
#include "core/run/routed_rows.hpp"

namespace quench {

void FloatWeights::keep(const std::string& name, const HostTensor& value) {
  values_.try_emplace(name, value);
}

void FloatWeights::keep_op(uint32_t block, uint32_t group, uint32_t linear) {
  ops_.push_back({block, group, linear});
}

void FloatWeights::restore() {
  for (const Op& op : ops_) {
    model_.set_linear_op(op.block, op.group, op.linear, nullptr);
  }
  for (const auto& [name, value] : values_) {
    model_.weight_set(name, value.view());
  }
  ops_.clear();
  values_.clear();
}

namespace {

// Quantizers work on float32, or on float64 where the model does.
quench_dtype weight_dtype(quench_dtype model) {
  return same_dtype(model, kFloat64) ? kFloat64 : kFloat32;
}

void stop_if_asked() {
  if (HostServices::instance().cancel_flag()) {
    fail(QUENCH_CANCELLED, "stopped on request");
  }
}

// One input group with the states of its quantizer and, where that cannot judge itself, of the
// judge.
class GroupInTheMaking {
 public:
  GroupInTheMaking(ModelHandle& model, QuantizerHandle& quantizer, QuantizerHandle* judge,
                   uint32_t block, uint32_t group, bool with_rows)
      : info_(model.block(block).groups[group]),
        args_{sizeof(quench_group_args), 0, block, group, &info_, info_.linears[0].in_features,
              model.info().device},
        group_(quantizer.begin(args_)),
        observes_((quantizer.needs() & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0) {
    if (with_rows && judge != nullptr && !group_.has_gram()) {
      judge_.emplace(judge->begin(args_));
    }
  }

  const quench_group_info& info() const { return info_; }
  QuantizerHandle::Group& group() { return group_; }

  void observe(const std::vector<quench_tensor>& carried, StageRoutes& routes) {
    if (static_cast<size_t>(info_.input) >= carried.size()) {
      fail(QUENCH_INTERNAL, "group {} of block {}: reads carried tensor {} of {}", args_.group,
           args_.block, info_.input, carried.size());
    }
    quench_observe_args args{sizeof args, 0,       &carried[static_cast<size_t>(info_.input)],
                             nullptr,     nullptr, nullptr,
                             nullptr};
    std::vector<int64_t> routed;
    quench_tensor index{};
    const int64_t stride = 1;
    int64_t count = 0;
    if (info_.rows >= 0) {
      routed = routes.at(info_.rows).of(info_.expert, args.x->shape[0]);
      count = static_cast<int64_t>(routed.size());
      routed_rows_ += count;
      if (count == 0) {
        return;
      }
      index = {routed.data(), {QUENCH_DEVICE_CPU, 0}, 1, kInt64, &count, &stride, 0};
      args.row_index = &index;
    }
    if (observes_) {
      group_.observe(args);
    }
    if (judge_) {
      judge_->observe(args);
    }
  }

  bool routed() const { return info_.rows >= 0; }
  bool unreached() const { return routed() && routed_rows_ == 0; }
  bool thin() const { return routed() && routed_rows_ < args_.in_features; }
  // After the last row. A method that needs rows gets a stand-in for those that never came.
  void close_rows(uint32_t needs) {
    if (unreached() && (needs & QUENCH_NEEDS_ROWS) != 0) {
      assumed_white_ = assume_white_inputs(group_, args_.in_features);
    }
  }
  // Adds to the record of a linear what there is to say of its expert's rows.
  void describe_rows(LayerResult& layer) const {
    if (!routed()) {
      return;
    }
    layer.numbers["tokens"] = static_cast<double>(routed_rows_);
    if (assumed_white_) {
      layer.numbers.erase("rows");
      layer.texts["fallback"] = fmt::format(
          "no calibration row reached expert {}: quantized as for white inputs", info_.expert);
    } else if (thin()) {
      layer.texts["warning"] =
          fmt::format("{} calibration rows reached expert {}, which has {} input columns",
                      routed_rows_, info_.expert, args_.in_features);
    }
  }

  // Relative output error on the observed rows; NaN where nobody can say.
  double relative_error(const quench_tensor& weight, const quench_tensor& dequantized) const {
    if (unreached()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const QuantizerHandle::Group* measured = group_.has_gram() ? &group_
                                             : judge_          ? &*judge_
                                                               : nullptr;
    if (measured == nullptr) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const auto error = measured->output_error(weight, dequantized);
    return error.reference > 0 ? error.squared_error / error.reference : 0.0;
  }

 private:
  const quench_group_info& info_;
  quench_group_args args_;
  QuantizerHandle::Group group_;
  std::optional<QuantizerHandle::Group> judge_;
  bool observes_;
  int64_t routed_rows_ = 0;  // where rows are routed: that came to this expert
  bool assumed_white_ = false;
};

class ModelQuantization {
 public:
  ModelQuantization(ModelHandle& model, QuantizerHandle& quantizer, const QuantizeOptions& options,
                    FloatWeights& kept)
      : model_(model), quantizer_(quantizer), options_(options), kept_(kept) {
    if (options.calibration != nullptr) {
      stream_.emplace(model, options.calibration->ids, options.calibration->starts);
      result_.calibration_tokens = options.calibration->starts.back();
    }
  }

  QuantizationResult run() {
    const uint32_t blocks = model_.info().blocks;
    HostServices& services = HostServices::instance();
    if (stream_) {
      for (size_t b = 0; b < stream_->batches().size(); ++b) {
        stream_->embed(b);
      }
    }
    for (uint32_t block = 0; block < blocks; ++block) {
      const quench_block_info& info = model_.block(block);
      for (uint32_t stage = 0; stage < info.stage_count; ++stage) {
        run_stage(block, info, stage);
        services.progress("", "quantizing with " + quantizer_.id(),
                          block * uint64_t{info.stage_count} + stage + 1,
                          blocks * uint64_t{info.stage_count});
      }
    }
    finish();
    return std::move(result_);
  }

 private:
  // All calibration batches through the stage, their rows straight into the groups that it feeds,
  // then those groups' linears. The next stage runs on the quantized weights.
  void run_stage(uint32_t block, const quench_block_info& info, uint32_t stage) {
    std::vector<GroupInTheMaking> groups;
    groups.reserve(info.group_count);
    std::vector<uint32_t> indices;
    for (uint32_t g = 0; g < info.group_count; ++g) {
      if (info.groups[g].stage == stage) {
        groups.emplace_back(model_, quantizer_, options_.judge, block, g, stream_.has_value());
        indices.push_back(g);
      }
    }
    if (stream_) {
      for (size_t b = 0; b < stream_->batches().size(); ++b) {
        stop_if_asked();
        stream_->stage(b, block, stage);
        const MicroBatch& batch = stream_->batches()[b];
        result_.stage_tokens += batch.rows.size() * static_cast<uint64_t>(batch.length);
        const std::vector<quench_tensor> carried = stream_->carried(b);
        StageRoutes routes(model_, carried);
        for (GroupInTheMaking& group : groups) {
          group.observe(carried, routes);
        }
      }
      for (GroupInTheMaking& group : groups) {
        group.close_rows(quantizer_.needs());
        result_.observed_groups += group.unreached() ? 0 : 1;
        result_.routed_groups += group.routed() ? 1 : 0;
        result_.unreached_groups += group.unreached() ? 1 : 0;
        result_.thin_groups += group.thin() ? 1 : 0;
      }
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      for (uint32_t linear = 0; linear < groups[i].info().linear_count; ++linear) {
        stop_if_asked();
        quantize_linear(block, indices[i], groups[i], linear);
      }
    }
  }

  void quantize_linear(uint32_t block, uint32_t group_index, GroupInTheMaking& group,
                       uint32_t linear) {
    const quench_linear_info& info = group.info().linears[linear];
    const quench_dtype dtype = weight_dtype(model_.info().dtype);
    HostTensor weight(dtype, {info.out_features, info.in_features});
    model_.weight_get(info.weight, weight.view());
    if (const int64_t at = first_nonfinite(weight); at >= 0) {
      fail(QUENCH_NUMERICAL, "{}: element [{}, {}] is not finite", info.weight,
           at / info.in_features, at % info.in_features);
    }
    kept_.keep(info.weight, weight);
    HostTensor dequantized(dtype, {info.out_features, info.in_features});
    const quench_tensor weight_view = weight.view();
    const quench_tensor dequantized_view = dequantized.view();
    QuantizeSink sink;
    try {
      group.group().quantize({sizeof(quench_quantize_args), 0, linear, &weight_view,
                              &dequantized_view, sink.get(), nullptr});
    } catch (const Error& error) {
      fail(error.code(), "{} ({})", error.what(), info.name);
    }
    LayerResult layer;
    layer.name = info.name;
    layer.block = block;
    layer.out_features = info.out_features;
    layer.in_features = info.in_features;
    if (std::optional<quench_linear_op> op = sink.take_op()) {
      model_.set_linear_op(block, group_index, linear, &*op);
      kept_.keep_op(block, group_index, linear);
    } else {
      if (const int64_t at = first_nonfinite(dequantized); at >= 0) {
        fail(QUENCH_NUMERICAL, "quantizer {}: {}: dequantized element [{}, {}] is not finite",
             quantizer_.id(), info.name, at / info.in_features, at % info.in_features);
      }
      if (stream_) {
        layer.relative_error = group.relative_error(weight_view, dequantized_view);
      }
      model_.weight_set(info.weight, dequantized_view);
    }
    layer.numbers = std::move(sink.numbers);
    layer.texts = std::move(sink.texts);
    if (stream_) {
      group.describe_rows(layer);
    }
    if (options_.keep_tensors) {
      layer.tensors = std::move(sink.tensors);
      layer.tensors["weight"] = std::move(dequantized);
    }
    result_.layers.push_back(std::move(layer));
  }

  void finish() {
    double bits = 0;
    double weights = 0;
    for (const LayerResult& layer : result_.layers) {
      const auto found = layer.numbers.find("bits_per_weight");
      if (found == layer.numbers.end()) {
        fail(QUENCH_INTERNAL, "quantizer {}: {}: reported no bits_per_weight", quantizer_.id(),
             layer.name);
      }
      const double count = static_cast<double>(layer.out_features * layer.in_features);
      bits += found->second * count;
      weights += count;
    }
    result_.bits_per_weight = weights > 0 ? bits / weights : 0;
    if (result_.thin_groups > 0) {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("{}: of {} groups of experts, {} were reached by fewer calibration rows than "
                      "they have columns, {} of them by none",
                      quantizer_.id(), result_.routed_groups, result_.thin_groups,
                      result_.unreached_groups));
    }
  }

  ModelHandle& model_;
  QuantizerHandle& quantizer_;
  const QuantizeOptions& options_;
  FloatWeights& kept_;
  std::optional<ActivationStream> stream_;
  QuantizationResult result_;
};

}  // namespace

QuantizationResult quantize_model(ModelHandle& model, QuantizerHandle& quantizer,
                                  const QuantizeOptions& options, FloatWeights& kept) {
  if (options.calibration == nullptr && (quantizer.needs() & QUENCH_NEEDS_ROWS) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "quantizer {}: needs calibration data and got none",
         quantizer.id());
  }
  const uint32_t unsupported =
      QUENCH_NEEDS_FLOAT_STREAM | QUENCH_NEEDS_GRADIENTS | QUENCH_NEEDS_BLOCK_REPLAY;
  if ((quantizer.needs() & unsupported) != 0) {
    fail(QUENCH_UNSUPPORTED,
         "quantizer {}: needs a float stream, gradients or block replay, which this host does not "
         "offer",
         quantizer.id());
  }
  return ModelQuantization(model, quantizer, options, kept).run();
}

LayerResult quantize_layer(QuantizerHandle& quantizer, QuantizerHandle* judge,
                           const HostTensor& weight, const HostTensor* inputs) {
  const quench_linear_info linear{sizeof linear, 0,       "weight",          "layer",
                                  "weight",      nullptr, weight.shape()[0], weight.shape()[1]};
  const quench_group_info info{sizeof info, 0, 0, -1, -1, 1, &linear, 0, nullptr};
  const quench_group_args args{sizeof args,           0, 0, 0, &info, weight.shape()[1],
                               {QUENCH_DEVICE_CPU, 0}};
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
  QuantizeSink sink;
  group.quantize(
      {sizeof(quench_quantize_args), 0, 0, &weight_view, &dequantized_view, sink.get(), nullptr});
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
