// A C-contiguous tensor in the host's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/io/tensor_memory.hpp"
#include "quench/abi/tensor.h"

namespace quench {

class HostTensor {
 public:
  HostTensor() = default;
  // Filled with zeros.
  HostTensor(quench_dtype dtype, std::vector<int64_t> shape);

  quench_dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  uint64_t elements() const;
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // The elements as type T, whose size must equal the dtype's.
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  // Valid as long as this object stays where it is. Do not write through the view of a const
  // object.
  quench_tensor view() const;

 private:
  quench_dtype dtype_{};
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  std::vector<std::byte, TensorAllocator<std::byte>> bytes_;
};

// Index of the first element that is not finite, or -1. float32 and float64 only.
int64_t first_nonfinite(const HostTensor& tensor);

}  // namespace quench
