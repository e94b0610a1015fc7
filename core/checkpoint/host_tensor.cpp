#include "core/checkpoint/host_tensor.hpp"

#include <cmath>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

HostTensor::HostTensor(quench_dtype dtype, std::vector<int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), strides_(shape_.size()) {
  int64_t step = 1;
  for (size_t d = shape_.size(); d-- > 0;) {
    strides_[d] = step;
    if (shape_[d] < 0 || __builtin_mul_overflow(step, shape_[d], &step)) {
      fail(QUENCH_INVALID_ARGUMENT, "a tensor of shape [{}]", fmt::join(shape_, ", "));
    }
  }
  bytes_.resize(static_cast<size_t>(step) * dtype_size(dtype));
}

uint64_t HostTensor::elements() const {
  return bytes_.size() / dtype_size(dtype_);
}

quench_tensor HostTensor::view() const {
  return {const_cast<std::byte*>(bytes_.data()),
          {QUENCH_DEVICE_CPU, 0},
          static_cast<int32_t>(shape_.size()),
          dtype_,
          shape_.data(),
          strides_.data(),
          0};
}

namespace {

template <typename T>
int64_t find_nonfinite(std::span<const T> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

}  // namespace

int64_t first_nonfinite(const HostTensor& tensor) {
  return same_dtype(tensor.dtype(), kFloat64) ? find_nonfinite(tensor.as<double>())
                                              : find_nonfinite(tensor.as<float>());
}

}  // namespace quench
