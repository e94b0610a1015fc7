#include "quantizers/awq/effective_weight.hpp"

#include <algorithm>

#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
void divide_columns(T* values, int64_t rows, std::span<const double> scale) {
  const auto columns = static_cast<int64_t>(scale.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      T& value = values[r * columns + c];
      value = static_cast<T>(static_cast<double>(value) / scale[static_cast<size_t>(c)]);
    }
  }
}

void divide_on_host(const at::Tensor& weight, std::span<const double> scale) {
  if (weight.scalar_type() == at::kDouble) {
    divide_columns(weight.data_ptr<double>(), weight.size(0), scale);
  } else {
    divide_columns(weight.data_ptr<float>(), weight.size(0), scale);
  }
}

void divide_there(const at::Tensor& weight, std::span<const double> scale) {
  constexpr int64_t kHeld = int64_t{1} << 23;  // elements that are float64 at once
  const at::Tensor by = beside<double>(weight, scale);
  const int64_t most = std::max<int64_t>(1, kHeld / weight.size(1));
  for (int64_t first = 0; first < weight.size(0); first += most) {
    const at::Tensor rows = weight.narrow(0, first, std::min(most, weight.size(0) - first));
    rows.copy_(rows.to(at::kDouble).div_(by));
  }
}

}  // namespace

void write_effective_weight(const Coded& coded, std::span<const double> scale, const at::Tensor& to,
                            const char* name) {
  const at::Tensor out = kit::host_empty(to.sizes(), to.scalar_type());
  dequantize(coded, kit::view_of(out), name);
  if (!scale.empty()) {
    divide_on_host(out, scale);
  }
  to.copy_(out);
}

void divide_by_scale(const at::Tensor& weight, std::span<const double> scale, const char* name) {
  if (scale.empty()) {
    return;
  }
  if (matrix::on_host(weight)) {
    const at::Tensor dense = weight.contiguous();
    divide_on_host(dense, scale);
    weight.copy_(dense);
  } else {
    divide_there(weight, scale);
  }
  if (!matrix::all_finite(weight)) {
    kit::fail(QUENCH_NUMERICAL, "%s: the weight over its channel scale is not finite", name);
  }
}

void write_effective_weight(const CodedThere& coded, Groups groups, std::span<const double> scale,
                            const at::Tensor& to, const char* name) {
  dequantize_on_device(coded, groups, to, name);
  divide_by_scale(to, scale, name);
}

}  // namespace quench::quantizers
