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

// Throws UNSUPPORTED for a stream other than the default one.
void expect_default_stream(const void* stream);

// Memory for the tensors between stages, on one device.
class DeviceMemory {
 public:
  explicit DeviceMemory(at::Device device) : device_(device) {}
  // RESOURCE_EXHAUSTED says how many bytes were wanted.
  void* allocate(uint64_t bytes);
  void release(void* memory);

 private:
  at::Device device_;
  std::unordered_map<void*, at::Tensor> blocks_;
};

// Copies between views of equal shape and dtype; returns when the bytes have arrived.
void copy(const quench_tensor& from, const quench_tensor& to);

}  // namespace quench::decoder
