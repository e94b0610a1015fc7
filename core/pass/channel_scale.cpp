#include "core/pass/channel_scale.hpp"

#include <cstring>
#include <memory>
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

void expect_wide(const quench_tensor& rows) {
  if (!same_dtype(rows.dtype, kFloat32) && !same_dtype(rows.dtype, kFloat64)) {
    fail(QUENCH_UNSUPPORTED,
         "a channel scale that cannot be folded wants a float32 or float64 model");
  }
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

HostTensor divided(const quench_tensor& rows, std::span<const double> scale) {
  expect_wide(rows);
  HostTensor out(rows.dtype, {rows.shape[0], rows.shape[1]});
  std::memcpy(out.bytes().data(), static_cast<const std::byte*>(rows.data) + rows.byte_offset,
              out.bytes().size());
  divide_columns(out, scale);
  return out;
}

DeviceTensor divided_through_host(ModelHandle& model, const quench_tensor& rows,
                                  std::span<const double> scale) {
  expect_wide(rows);
  HostTensor values(rows.dtype, {rows.shape[0], rows.shape[1]});
  model.copy(rows, values.view());
  divide_columns(values, scale);
  DeviceTensor out(model, rows.dtype, values.shape());
  model.copy(values.view(), out.view());
  return out;
}

DividedRows::DividedRows(ModelHandle& model, const quench_tensor& rows,
                         std::span<const double> scale) {
  if (rows.device.type == QUENCH_DEVICE_CPU) {
    on_host_ = divided(rows, scale);
  } else {
    on_device_ = divided_through_host(model, rows, scale);
  }
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
