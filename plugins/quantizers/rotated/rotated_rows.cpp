#include "quantizers/rotated/rotated_rows.hpp"

#include <ATen/ops/empty.h>

#include <cmath>
#include <span>

#include "quantizers/rotated/device/multiply_by_kernel.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

using Direction = RandomHadamard::Direction;

at::Tensor own_rows(const at::Tensor& rows, at::Device device) {
  const at::ScalarType type = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor there = rows.to(device);
  const at::Tensor own = at::empty(rows.sizes(), at::TensorOptions(type).device(device));
  kit::for_row_blocks(own, [&](int64_t first, int64_t count) {
    own.narrow(0, first, count).copy_(there.narrow(0, first, count));
  });
  return own;
}

template <typename T>
void multiply(const RandomHadamard& rotation, const at::Tensor& rows, const char* what,
              Direction direction) {
  const std::span<T> values(rows.data_ptr<T>(), static_cast<size_t>(rows.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      const auto columns = static_cast<size_t>(rotation.size());
      kit::fail(QUENCH_NUMERICAL, "%s: row %zu, column %zu is %g", what, i / columns, i % columns,
                static_cast<double>(values[i]));
    }
  }
  rotation.multiply(values, direction);
}

}  // namespace

at::Tensor rotated(const RandomHadamard& rotation, const quench_tensor& rows, const char* what,
                   Direction direction) {
  if (rows.dimensions != 2 || rows.shape[1] != rotation.size()) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: wanted [N, %lld], got %s", what,
              static_cast<long long>(rotation.size()),
              kit::shape_text(kit::shape_of(rows)).c_str());
  }
  const at::Tensor given = kit::borrow(rows);
  if (!matrix::on_host(given)) {
    const at::Tensor there = own_rows(given, given.device());
    if (multiply_by_kernel(rotation, there, direction)) {
      return there;
    }
  }
  const at::Tensor own = own_rows(given, at::kCPU);
  if (own.scalar_type() == at::kDouble) {
    multiply<double>(rotation, own, what, direction);
  } else {
    multiply<float>(rotation, own, what, direction);
  }
  return own.to(given.device());
}

at::Tensor rotated_gram(const RandomHadamard& rotation, const quench_tensor& gram,
                        Direction direction) {
  const at::Tensor wide = kit::borrow(gram).to(at::kDouble);
  const at::Tensor half = rotated(rotation, kit::view_of(wide), "gram", direction);
  const at::Tensor turned = half.t().contiguous();
  return rotated(rotation, kit::view_of(turned), "gram", direction);
}

}  // namespace quench::quantizers
