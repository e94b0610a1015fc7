// The device that a model computes on: host memory or a CUDA device that libtorch can use.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>

#include "quench/abi/kind/model.h"

namespace quench::decoder {

// Throws UNSUPPORTED when this process cannot compute on `device`. Of a GPU, what it may do with
// numbers is settled: keep_precision().
at::Device usable_device(quench_device device);

// For the whole process and its GPUs: products of float32 are not made in TF32, those of 16-bit
// floats are summed in float32, and where libtorch has a form of an operation that adds in one
// order, that is the one.
void keep_precision();

// While it lives, backwards on a GPU have one order of sums or fail: libtorch's attention has such
// a form and takes it only then. For the whole process.
class OneOrderOfSums {
 public:
  explicit OneOrderOfSums(at::Device device);
  ~OneOrderOfSums();
  OneOrderOfSums(const OneOrderOfSums&) = delete;
  OneOrderOfSums& operator=(const OneOrderOfSums&) = delete;

 private:
  bool on_device_;
};

// Throws UNSUPPORTED for a stream other than the default one.
void expect_default_stream(const void* stream);

// Memory for the tensors between stages, on one device.
class DeviceMemory {
 public:
  explicit DeviceMemory(at::Device device) : device_(device) {}
  // RESOURCE_EXHAUSTED says how many bytes were wanted.
  void* allocate(uint64_t bytes);
  void release(void* memory);

  // quench.model.device_memory/1, for a device that is not the CPU. Free is also what libtorch
  // keeps of released memory.
  struct Available {
    uint64_t free;
    uint64_t total;
  };
  Available available() const;
  void* allocate_host(uint64_t bytes);  // page-locked
  void pin_host(void* memory, uint64_t bytes, uint32_t flags) const;
  void unpin_host(void* memory) const;

 private:
  void* keep(const at::Tensor& block);

  at::Device device_;
  std::unordered_map<void*, at::Tensor> blocks_;
};

// Copies between views of equal shape and dtype; returns when the bytes have arrived.
void copy(const quench_tensor& from, const quench_tensor& to);

}  // namespace quench::decoder
