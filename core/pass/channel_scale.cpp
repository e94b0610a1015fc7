#include "core/pass/channel_scale.hpp"

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
                        quench_error* error) noexcept -> quench_status {
    auto& own = *static_cast<DividedOp*>(context);
    std::optional<DividedRows> rows;
    const quench_status divided_rows =
        guarded(error, [&] { rows.emplace(own.model, *x, own.scale); });
    if (divided_rows != QUENCH_OK) {
      return divided_rows;
    }
    const quench_tensor view = rows->view();
    return own.op.apply(own.op.context, &view, y, stream, error);
  };
  const auto release = [](void* context) noexcept { delete static_cast<DividedOp*>(context); };
  return {sizeof(quench_linear_op), made.release(), apply, release};
}

}  // namespace quench
