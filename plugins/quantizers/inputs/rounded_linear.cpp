#include "quantizers/inputs/rounded_linear.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "quantizers/gram/op_errors.hpp"
#include "quantizers/grid/coded.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

InputStatistics* statistics_of(GramGroup& group) {
  return static_cast<InputStatistics*>(group.observer());
}

constexpr int64_t kHeld = int64_t{1} << 23;  // values on a device that are float64 at once

void copy_rows(const at::Tensor& from, const at::Tensor& to) {
  kit::for_row_blocks(to, [&](int64_t first, int64_t count) {
    to.narrow(0, first, count).copy_(from.narrow(0, first, count));
  });
}

// Float32 or float64 rows in memory of their own, C order.
at::Tensor own_rows(const at::Tensor& x, at::Device device) {
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor there = x.to(device);
  const at::Tensor rows = at::empty(x.sizes(), at::TensorOptions(type).device(device));
  copy_rows(there, rows);
  return rows;
}

// Calls `change` with parts of the rows in float64, and rounds what becomes of them once.
template <typename Change>
void change_wide(const at::Tensor& rows, Change change) {
  const int64_t most = std::max<int64_t>(1, kHeld / rows.size(1));
  kit::for_row_blocks(rows, [&](int64_t first, int64_t count) {
    for (int64_t end = first + count; first < end; first += most) {
      const at::Tensor part = rows.narrow(0, first, std::min(most, end - first));
      part.copy_(change(part.to(at::kDouble)));
    }
  });
}

bool has_inputs(const quench_linear_info& linear) {
  const std::string role = linear.role != nullptr ? linear.role : "";
  return role != "head" && role != "embedding";
}

quench_status apply_op(void* context, const quench_tensor* x, const quench_tensor* y, void*,
                       quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    static_cast<const RoundedLinear*>(context)->apply(kit::borrow(*x), kit::borrow(*y));
  });
}

quench_status inputs_of_op(void* context, const quench_tensor* x, const quench_tensor* rounded,
                           void*, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    static_cast<const RoundedLinear*>(context)->inputs(kit::borrow(*x), kit::borrow(*rounded));
  });
}

void release_op(void* context) noexcept {
  delete static_cast<RoundedLinear*>(context);
}

}  // namespace

RoundedLinear::RoundedLinear(at::Tensor weight, std::span<const double> scale,
                             InputRounding rounding)
    : weight_(std::move(weight)), rounding_(std::move(rounding)) {
  if (!scale.empty()) {
    scale_ = beside(weight_, scale).clone();
  }
}

at::Tensor RoundedLinear::divided(const at::Tensor& x, at::Device device) const {
  const at::Tensor rows = own_rows(x, device);
  if (scale_.defined()) {
    const at::Tensor scale = scale_.to(device);
    change_wide(rows, [&](at::Tensor part) { return part.div_(scale); });
  }
  return rows;
}

at::Tensor RoundedLinear::rounded_rows(const at::Tensor& x) const {
  at::Tensor rows = divided(x, weight_.device());
  if (rounding_ && matrix::on_host(rows)) {
    rounding_->round(rows);
  } else if (rounding_ && !rounding_->round_there(rows)) {
    const at::Tensor on_host = divided(x, at::kCPU);
    rounding_->round(on_host);
    rows = on_host.to(weight_.device());
  }
  return rows;
}

void RoundedLinear::inputs(const at::Tensor& x, const at::Tensor& rounded) const {
  const at::Tensor rows = rounded_rows(x);
  if (scale_.defined()) {
    change_wide(rows, [&](at::Tensor part) { return part.mul_(scale_); });
  }
  copy_rows(rows, rounded);
}

void RoundedLinear::apply(const at::Tensor& x, const at::Tensor& y) const {
  const at::Tensor rows = rounded_rows(x);
  const at::ScalarType type = rows.scalar_type();
  const at::Tensor weight = weight_.scalar_type() == type ? weight_ : weight_.to(type);
  if (y.scalar_type() == type) {
    matrix::product_into(y, rows, weight.t());
    return;
  }
  copy_rows(matrix::product(rows, weight.t()), y);
}

void give_op(std::unique_ptr<RoundedLinear> op, kit::QuantizeSink& sink) {
  sink.linear_op({sizeof(quench_linear_op), op.get(), apply_op, release_op, inputs_of_op});
  static_cast<void>(op.release());  // the host owns it now
}

void observe_inputs(GramGroup& group, int64_t columns, const ActivationSettings& settings) {
  if (settings.rounds()) {
    group.add_observer(std::make_unique<InputStatistics>(columns, settings));
  }
}

// On the sample a linear is applied three ways, and its rows are rounded beside it.
void add_memory(kit::GroupMemory& memory, const kit::GroupShapes& shapes,
                const ActivationSettings& settings) {
  if (!settings.rounds()) {
    return;
  }
  const auto in = static_cast<uint64_t>(shapes.in_features);
  const uint64_t out = shapes.largest_weight() / in;
  memory.observing += InputStatistics::bytes(shapes.in_features, settings);
  memory.linear += shapes.largest_weight() * shapes.weight_dtype.bits / 8 +
                   static_cast<uint64_t>(RowSample::kRows) * (in + 3 * out) * sizeof(float);
}

void round_inputs(const ActivationSettings& settings, const kit::LinearToQuantize& linear,
                  GramGroup& group, OpWeight weight, kit::QuantizeSink& sink) {
  if (!settings.rounds()) {
    return;
  }
  if (!has_inputs(linear.info)) {
    sink.text("activations", "float: not an input of a block");
    return;
  }
  if ((settings.is_static() || settings.keeps_columns()) && group.gram().empty()) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "%s: activation_range, activation_keep and activation_threshold take ranges from "
              "calibration rows, and there are none",
              linear.info.name);
  }
  const InputStatistics* statistics = statistics_of(group);
  auto op = std::make_unique<RoundedLinear>(
      std::move(weight.multiplied), weight.scale,
      InputRounding(settings, weight.given.size(1), statistics, weight.scale, linear.info.name));
  report_weight_error(weight.given, weight.decoded, group.gram(), sink);
  if (statistics != nullptr && !statistics->empty()) {
    report_activation_errors(
        weight.given, weight.decoded, statistics->sample().rows(),
        [&](const at::Tensor& x, const at::Tensor& y) { op->apply(x, y); }, sink);
  }
  sink.number("activation_bits", op->rounding().bits());
  sink.number("outlier_columns", static_cast<double>(op->rounding().kept_columns()));
  sink.text("activations", settings.activations);
  if (!op->rounding().fallback().empty()) {
    sink.text("activation_fallback", op->rounding().fallback());
  }
  give_op(std::move(op), sink);
}

void round_inputs(const ActivationSettings& settings, const kit::LinearToQuantize& linear,
                  GramGroup& group, const at::Tensor& weight, kit::QuantizeSink& sink) {
  if (settings.rounds()) {
    const at::Tensor decoded = kit::borrow(linear.dequantized).clone();
    round_inputs(settings, linear, group, {weight, decoded, decoded, {}}, sink);
  }
}

}  // namespace quench::quantizers
