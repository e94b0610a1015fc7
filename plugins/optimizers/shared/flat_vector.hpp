// A vector of float32 of an optimizer's own, where it steps: in host memory or on a GPU. It is no
// part of its state.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "quench/abi/tensor.h"
#include "shared/cuda/device_memory.hpp"

namespace quench::optimizers {

class FlatVector {
 public:
  // `count` elements, whatever they hold, until the next call; on a GPU they are addresses there.
  // Memory is kept from call to call. Throws what cuda::DeviceMemory throws.
  std::span<float> take(size_t count, quench_device device) {
    if (device.type == QUENCH_DEVICE_CPU) {
      values_.resize(count);
      return values_;
    }
    const size_t bytes = count * sizeof(float);
    if (!on_device_ || on_device_->size() < bytes) {
      on_device_.reset();
      on_device_.emplace(device.index, bytes);
    }
    return {static_cast<float*>(on_device_->get()), count};
  }

 private:
  std::vector<float> values_;
  std::optional<cuda::DeviceMemory> on_device_;
};

}  // namespace quench::optimizers
