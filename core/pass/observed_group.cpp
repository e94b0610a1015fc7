#include "core/pass/observed_group.hpp"

#include <cmath>
#include <limits>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/pass/channel_scale.hpp"

namespace quench {

ObservedGroup::ObservedGroup(ModelHandle& model, const quench_group_info& info, uint32_t block,
                             uint32_t group, QuantizerHandle& quantizer, QuantizerHandle* judge,
                             const std::vector<double>* input_scale)
    : model_(&model),
      info_(&info),
      args_{sizeof(quench_group_args), 0, block, group, &info, info.linears[0].in_features,
            model.info().device},
      owner_(&quantizer),
      group_(quantizer.begin(args_)),
      observes_((quantizer.needs() & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0),
      input_scale_(input_scale) {
  if (judge != nullptr && !group_.has_gram()) {
    judge_.emplace(judge->begin(args_));
  }
}

void ObservedGroup::observe(const std::vector<quench_tensor>& carried, StageRoutes& routes,
                            const std::vector<quench_tensor>* float_carried) {
  const auto input = static_cast<size_t>(info_->input);
  if (input >= carried.size()) {
    fail(QUENCH_INTERNAL, "group {} of block {}: reads carried tensor {} of {}", args_.group,
         args_.block, info_->input, carried.size());
  }
  quench_observe_args args{sizeof args, 0, &carried[input], nullptr, nullptr, nullptr, nullptr};
  if (float_carried != nullptr) {
    args.float_x = &float_carried->at(input);
  }
  if (info_->rows < 0) {
    observe_args(args);
    return;
  }
  if (float_carried != nullptr) {
    fail(QUENCH_UNSUPPORTED,
         "quantizer {}: needs the float model's rows, and group {} of block {} is routed: the two "
         "models may route a token differently",
         owner_->id(), args_.group, args_.block);
  }
  const std::vector<int64_t> routed = routes.at(info_->rows).of(info_->expert, args.x->shape[0]);
  const auto count = static_cast<int64_t>(routed.size());
  routed_rows_ += count;
  if (count == 0) {
    return;
  }
  const int64_t stride = 1;
  const quench_tensor index{
      const_cast<int64_t*>(routed.data()), {QUENCH_DEVICE_CPU, 0}, 1, kInt64, &count, &stride, 0};
  args.row_index = &index;
  observe_args(args);
}

void ObservedGroup::close_rows() {
  if (unreached() && (owner_->needs() & QUENCH_NEEDS_ROWS) != 0) {
    assumed_white_ = assume_white_inputs(group_, args_.in_features);
  }
}

void ObservedGroup::describe_rows(LayerResult& layer) const {
  if (!routed()) {
    return;
  }
  layer.numbers["tokens"] = static_cast<double>(routed_rows_);
  if (assumed_white_) {
    layer.numbers.erase("rows");
    layer.texts["fallback"] = fmt::format(
        "no calibration row reached expert {}: quantized as for white inputs", info_->expert);
  } else if (thin()) {
    layer.texts["warning"] =
        fmt::format("{} calibration rows reached expert {}, which has {} input columns",
                    routed_rows_, info_->expert, args_.in_features);
  }
}

void ObservedGroup::observe_rows(const quench_tensor& x) {
  observe_args({sizeof(quench_observe_args), 0, &x, nullptr, nullptr, nullptr, nullptr});
}

void ObservedGroup::observe_args(const quench_observe_args& given) {
  reached_ = true;
  quench_observe_args args = given;
  std::optional<DividedRows> x;
  std::optional<DividedRows> float_x;
  quench_tensor views[2];
  if (input_scale_ != nullptr) {
    x.emplace(*model_, *given.x, *input_scale_);
    views[0] = x->view();
    args.x = &views[0];
    if (given.float_x != nullptr) {
      float_x.emplace(*model_, *given.float_x, *input_scale_);
      views[1] = float_x->view();
      args.float_x = &views[1];
    }
  }
  if (observes_) {
    group_.observe(args);
  }
  if (judge_) {
    judge_->observe(args);
  }
}

void ObservedGroup::quantize(QuantizerHandle& quantizer, const quench_quantize_args& args) {
  if (&quantizer == owner_) {
    group_.quantize(args);
  } else {
    group_.quantize_as(quantizer, args);
  }
}

double ObservedGroup::relative_error(const quench_tensor& weight,
                                     const quench_tensor& dequantized) const {
  const QuantizerHandle::Group* measured = group_.has_gram() ? &group_
                                           : judge_          ? &*judge_
                                                             : nullptr;
  if (measured == nullptr || !reached_) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto error = measured->output_error(weight, dequantized);
  return error.reference > 0 ? error.squared_error / error.reference : 0.0;
}

}  // namespace quench
