// Checked access to borrowed tensor views, and conversion between any float dtype and double.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/tensor.h"
#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::kit {

inline int64_t elements_of(const quench_tensor& tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.dimensions; ++d) {
    count *= tensor.shape[d];
  }
  return count;
}

inline bool is_contiguous(const quench_tensor& tensor) {
  if (tensor.strides == nullptr) {
    return true;
  }
  int64_t expected = 1;
  for (int32_t d = tensor.dimensions - 1; d >= 0; --d) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected) {
      return false;
    }
    expected *= tensor.shape[d];
  }
  return true;
}

inline std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

inline std::span<const int64_t> shape_of(const quench_tensor& tensor) {
  return {tensor.shape, static_cast<size_t>(tensor.dimensions)};
}

inline std::string memory_text(quench_device device) {
  return device.type == QUENCH_DEVICE_CPU ? "host memory"
                                          : "memory of device " + std::to_string(device.type) +
                                                ":" + std::to_string(device.index);
}

// The elements of a C-contiguous tensor of exactly this type on `device`, as addresses there;
// `what` names it in errors.
template <typename T>
std::span<T> elements_on(quench_device device, const quench_tensor& tensor, const char* what) {
  const bool on_host = device.type == QUENCH_DEVICE_CPU;
  if (tensor.device.type != device.type || (!on_host && tensor.device.index != device.index)) {
    fail(QUENCH_INVALID_ARGUMENT, "%s: wanted %s, got %s", what, memory_text(device).c_str(),
         memory_text(tensor.device).c_str());
  }
  if (!same(tensor.dtype, dtype_of<T>())) {
    fail(QUENCH_INVALID_ARGUMENT, "%s: wanted %s, got %s", what, name_of(dtype_of<T>()).c_str(),
         name_of(tensor.dtype).c_str());
  }
  if (!is_contiguous(tensor)) {
    fail(QUENCH_INVALID_ARGUMENT, "%s: wanted C order, got strides", what);
  }
  auto* bytes = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return {reinterpret_cast<T*>(bytes), static_cast<size_t>(elements_of(tensor))};
}

// The same in host memory.
template <typename T>
std::span<T> elements(const quench_tensor& tensor, const char* what) {
  return elements_on<T>({QUENCH_DEVICE_CPU, 0}, tensor, what);
}

// All elements of a C-contiguous host tensor of any float dtype, as doubles (exact).
inline std::vector<double> to_doubles(const quench_tensor& tensor, const char* what) {
  const auto count = static_cast<size_t>(elements_of(tensor));
  std::vector<double> out(count);
  if (same(tensor.dtype, kFloat64)) {
    const auto from = elements<double>(tensor, what);
    out.assign(from.begin(), from.end());
  } else if (same(tensor.dtype, kFloat32)) {
    const auto from = elements<float>(tensor, what);
    out.assign(from.begin(), from.end());
  } else if (same(tensor.dtype, kFloat16) || same(tensor.dtype, kBFloat16)) {
    expects(is_contiguous(tensor) && tensor.device.type == QUENCH_DEVICE_CPU, what);
    const auto* from = reinterpret_cast<const uint16_t*>(
        static_cast<const std::byte*>(tensor.data) + tensor.byte_offset);
    const bool half = same(tensor.dtype, kFloat16);
    for (size_t i = 0; i < count; ++i) {
      out[i] = half ? from_half(from[i]) : from_bfloat(from[i]);
    }
  } else {
    fail(QUENCH_INVALID_ARGUMENT, "%s: wanted a float dtype, got %s", what,
         name_of(tensor.dtype).c_str());
  }
  return out;
}

// Writes doubles to a C-contiguous host tensor of any float dtype, rounding each once.
inline void from_doubles(std::span<const double> values, const quench_tensor& tensor,
                         const char* what) {
  if (static_cast<int64_t>(values.size()) != elements_of(tensor)) {
    fail(QUENCH_INVALID_ARGUMENT, "%s: got %zu values for shape %s", what, values.size(),
         shape_text(shape_of(tensor)).c_str());
  }
  if (same(tensor.dtype, kFloat64)) {
    const auto to = elements<double>(tensor, what);
    std::copy(values.begin(), values.end(), to.begin());
  } else if (same(tensor.dtype, kFloat32)) {
    const auto to = elements<float>(tensor, what);
    for (size_t i = 0; i < values.size(); ++i) {
      to[i] = static_cast<float>(values[i]);
    }
  } else if (same(tensor.dtype, kFloat16) || same(tensor.dtype, kBFloat16)) {
    expects(is_contiguous(tensor) && tensor.device.type == QUENCH_DEVICE_CPU, what);
    auto* to =
        reinterpret_cast<uint16_t*>(static_cast<std::byte*>(tensor.data) + tensor.byte_offset);
    const bool half = same(tensor.dtype, kFloat16);
    for (size_t i = 0; i < values.size(); ++i) {
      to[i] = half ? to_half(values[i]) : to_bfloat(values[i]);
    }
  } else {
    fail(QUENCH_INVALID_ARGUMENT, "%s: wanted a float dtype, got %s", what,
         name_of(tensor.dtype).c_str());
  }
}

// A host tensor that owns its shape, strides and elements; its view() crosses the border.
template <typename T>
class OwnedTensor {
 public:
  explicit OwnedTensor(std::vector<int64_t> shape) : shape_(std::move(shape)), strides_(shape_) {
    int64_t count = 1;
    for (size_t d = shape_.size(); d-- > 0;) {
      strides_[d] = count;
      count *= shape_[d];
    }
    values_.resize(static_cast<size_t>(count));
  }
  std::vector<T>& values() { return values_; }
  const std::vector<T>& values() const { return values_; }
  quench_tensor view() {
    return {values_.data(),
            {QUENCH_DEVICE_CPU, 0},
            static_cast<int32_t>(shape_.size()),
            dtype_of<T>(),
            shape_.data(),
            strides_.data(),
            0};
  }

 private:
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  std::vector<T> values_;
};

}  // namespace quench::kit
