// Host memory that a model's device copies to and from: the family's own where it offers that
// (extension/device_memory.h), else memory for tensors.
#pragma once

#include <cstdint>

#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/extension/device_memory.h"

namespace quench {

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

}  // namespace quench
