// Tensors between stages on the model's device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/checkpoint/host_tensor.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/extension/device_memory.h"
#include "quench/abi/tensor.h"

namespace quench {

// Host memory that a model's device copies to and from: the family's own where it offers that
// (extension/device_memory.h), else memory for tensors.
class HostCopyMemory {
 public:
  // Throws Error(RESOURCE_EXHAUSTED). The model must outlive it.
  HostCopyMemory(ModelHandle& model, uint64_t bytes);
  ~HostCopyMemory();
  HostCopyMemory(const HostCopyMemory&) = delete;
  HostCopyMemory& operator=(const HostCopyMemory&) = delete;
  void* data() const { return data_; }

 private:
  ModelHandle& model_;
  const quench_model_device_memory* table_;  // nullptr: memory for tensors
  void* data_ = nullptr;
};

// The extension, or nullptr where the model is in host memory or its family does not offer it.
const quench_model_device_memory* device_memory_of(const ModelHandle& model);

// Bytes that the model's device has free; UINT64_MAX if unknown.
uint64_t free_device_bytes(ModelHandle& model);

// Memory on the model's device, or host memory if the family leaves that to the host. Its bytes can
// wait in host memory meanwhile.
class DeviceMemory {
 public:
  DeviceMemory(ModelHandle& model, uint64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  // nullptr while the bytes wait in host memory.
  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Moves the bytes to host memory and gives the device's back; does nothing if they are there.
  void rest();
  // Moves them to the device again.
  void wake();
  // Copies the bytes, wherever they are, to `other`, of the same size and awake.
  void copy_to(const DeviceMemory& other) const;

 private:
  void release();
  void copy(const void* from, quench_device from_device, void* to, quench_device to_device) const;

  ModelHandle& model_;
  uint64_t bytes_;
  void* data_ = nullptr;
  std::unique_ptr<HostCopyMemory> resting_;
};

// Strides of a C-contiguous tensor, in elements.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

// A C-contiguous tensor on the model's device. Stages that work in place share its memory.
class DeviceTensor {
 public:
  DeviceTensor(ModelHandle& model, quench_dtype dtype, const std::vector<int64_t>& shape);
  DeviceTensor(std::shared_ptr<DeviceMemory> memory, quench_device device, quench_dtype dtype,
               std::vector<int64_t> shape);
  // Valid as long as this object stays where it is.
  quench_tensor view() const;
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  quench_device device_;
  quench_dtype dtype_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
};

// A copy in host memory of a contiguous tensor of the model's.
HostTensor on_host(ModelHandle& model, const quench_tensor& from);

// The rows places[0]*each .. +each-1, places[1]*each .., ... of `from` [N, width]; copies adjacent
// rows together.
DeviceTensor rows_at(ModelHandle& model, const quench_tensor& from,
                     std::span<const uint64_t> places, uint64_t each);

}  // namespace quench
