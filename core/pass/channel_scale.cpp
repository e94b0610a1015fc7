#include "core/pass/channel_scale.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/arithmetic/column_scale.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

struct DividedOp {
  DividedOp(ModelHandle& of, const quench_linear_op& taken, std::vector<double> by)
      : model(of), op(taken), scale(std::move(by)) {}
  DividedOp(const DividedOp&) = delete;
  DividedOp& operator=(const DividedOp&) = delete;
  ModelHandle& model;
  quench_linear_op op;
  std::vector<double> scale;
  ~DividedOp() {
    if (op.release != nullptr) {
      op.release(op.context);
    }
  }
};

// Multiplies the columns of a tensor of the model's, on the host.
void multiply_there(ModelHandle& model, const quench_tensor& rows, std::span<const double> scale) {
  HostTensor values = on_host(model, rows);
  multiply_columns(values, scale);
  if (rows.device.type != QUENCH_DEVICE_CPU) {
    model.copy(values.view(), rows);
  } else {
    std::memcpy(static_cast<std::byte*>(rows.data) + rows.byte_offset, values.bytes().data(),
                values.bytes().size());
  }
}

// A function of the op within, given the divided inputs.
quench_status call_divided(void* context, decltype(quench_linear_op::apply) quench_linear_op::*call,
                           const quench_tensor* x, const quench_tensor* to, void* stream,
                           quench_error* error) noexcept {
  const auto& own = *static_cast<const DividedOp*>(context);
  std::optional<DividedRows> rows;
  const quench_status divided = guarded(error, [&] { rows.emplace(own.model, *x, own.scale); });
  if (divided != QUENCH_OK) {
    return divided;
  }
  const quench_tensor view = rows->view();
  return (own.op.*call)(own.op.context, &view, to, stream, error);
}

}  // namespace

void multiply_columns(HostTensor& matrix, std::span<const double> scale) {
  if (same_dtype(matrix.dtype(), kFloat64)) {
    multiply_columns(matrix.as<double>(), scale);
  } else {
    multiply_columns(matrix.as<float>(), scale);
  }
}

void divide_columns(HostTensor& matrix, std::span<const double> scale) {
  if (same_dtype(matrix.dtype(), kFloat64)) {
    divide_columns(matrix.as<double>(), scale);
  } else {
    divide_columns(matrix.as<float>(), scale);
  }
}

DividedRows::DividedRows(ModelHandle& model, const quench_tensor& rows,
                         std::span<const double> scale) {
  if (!same_dtype(rows.dtype, kFloat32) && !same_dtype(rows.dtype, kFloat64)) {
    fail(QUENCH_UNSUPPORTED,
         "a channel scale that cannot be folded wants a float32 or float64 model");
  }
  HostTensor divided = on_host(model, rows);
  divide_columns(divided, scale);
  if (rows.device.type == QUENCH_DEVICE_CPU) {
    rows_ = std::move(divided);
    return;
  }
  DeviceTensor there(model, rows.dtype, divided.shape());
  model.copy(divided.view(), there.view());
  rows_ = std::move(there);
}

quench_linear_op divided_inputs(ModelHandle& model, const quench_linear_op& op,
                                std::vector<double> scale) {
  auto made = std::make_unique<DividedOp>(model, op, std::move(scale));
  const auto apply = [](void* context, const quench_tensor* x, const quench_tensor* y, void* stream,
                        quench_error* error) noexcept {
    return call_divided(context, &quench_linear_op::apply, x, y, stream, error);
  };
  const auto release = [](void* context) noexcept { delete static_cast<DividedOp*>(context); };
  quench_linear_op divided = {sizeof divided, made.release(), apply, release, nullptr};
  if (op.inputs != nullptr) {
    divided.inputs = [](void* context, const quench_tensor* x, const quench_tensor* rounded,
                        void* stream, quench_error* error) noexcept {
      const quench_status status =
          call_divided(context, &quench_linear_op::inputs, x, rounded, stream, error);
      return status != QUENCH_OK ? status : guarded(error, [&] {
        const auto& own = *static_cast<const DividedOp*>(context);
        multiply_there(own.model, *rounded, own.scale);
      });
    };
  }
  return divided;
}

}  // namespace quench
