// A tensor view of elements that the caller owns, in C order in host memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "quench/abi/tensor.h"

namespace quench {

class HostView {
 public:
  HostView(const void* data, quench_dtype dtype, std::vector<int64_t> shape)
      : data_(const_cast<void*>(data)), dtype_(dtype), shape_(std::move(shape)), strides_(shape_) {
    int64_t step = 1;
    for (size_t d = shape_.size(); d-- > 0;) {
      strides_[d] = step;
      step *= shape_[d];
    }
  }
  // Valid as long as this object stays where it is.
  quench_tensor get() const {
    return {data_,  {QUENCH_DEVICE_CPU, 0}, static_cast<int32_t>(shape_.size()),
            dtype_, shape_.data(),          strides_.data(),
            0};
  }

 private:
  void* data_;
  quench_dtype dtype_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
};

}  // namespace quench
