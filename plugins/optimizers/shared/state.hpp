// The state of an optimizer: named float32 or float64 tensors in the order of their creation.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/tensor.hpp"
#include "shared/cuda/device_memory.hpp"

namespace quench::optimizers {

class State {
 public:
  // Forgets all tensors. Those of float32 that are made from now on lie on `device`.
  void begin(quench_device device) {
    entries_.clear();
    device_ = device;
  }
  quench_device device() const { return device_; }
  bool is_on_device() const { return device_.type != QUENCH_DEVICE_CPU; }

  // Zeroed tensors of this shape, which stay where they are. `name`: "<what>/<parameter>". Those of
  // float64, a few numbers each, are always in host memory.
  std::span<float> add(const std::string& name, std::vector<int64_t> shape) {
    Entry& entry = entries_.emplace_back(name, std::move(shape));
    if (is_on_device()) {
      size_t count = 1;
      for (const int64_t size : entry.shape) {
        count *= static_cast<size_t>(size);
      }
      entry.on_device.emplace(device_.index, count * sizeof(float));
      return {static_cast<float*>(entry.on_device->get()), count};
    }
    return entry.single.emplace(entry.shape).values();
  }
  std::span<double> add_numbers(const std::string& name, std::vector<int64_t> shape) {
    Entry& entry = entries_.emplace_back(name, std::move(shape));
    return entry.twice.emplace(entry.shape).values();
  }

  // Implements quench::kit::Optimizer::state.
  bool at(uint64_t index, const char*& name, quench_tensor& view) {
    if (index >= entries_.size()) {
      return false;
    }
    Entry& entry = entries_[index];
    name = entry.name.c_str();
    if (entry.on_device) {
      view = {entry.on_device->get(),
              device_,
              static_cast<int32_t>(entry.shape.size()),
              kit::kFloat32,
              entry.shape.data(),
              nullptr,
              0};
    } else {
      view = entry.single ? entry.single->view() : entry.twice->view();
    }
    return true;
  }
  // Implements quench::kit::Optimizer::copy_device_state.
  void copy(uint64_t index, void* host, bool set) {
    const cuda::DeviceMemory& memory = *entries_.at(index).on_device;
    cuda::copy_bytes(device_.index, set ? memory.get() : host, set ? host : memory.get(),
                     memory.size());
  }

 private:
  struct Entry {
    Entry(std::string called, std::vector<int64_t> size)
        : name(std::move(called)), shape(std::move(size)) {}
    std::string name;
    std::vector<int64_t> shape;
    std::optional<kit::OwnedTensor<float>> single;  // one of the three
    std::optional<kit::OwnedTensor<double>> twice;
    std::optional<cuda::DeviceMemory> on_device;
  };
  quench_device device_ = {QUENCH_DEVICE_CPU, 0};
  std::deque<Entry> entries_;
};

inline std::vector<int64_t> shape_of(const quench_parameter_info& tensor) {
  return {tensor.shape, tensor.shape + tensor.dimensions};
}

}  // namespace quench::optimizers
