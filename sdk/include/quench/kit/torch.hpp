// Converts between tensor views and libtorch. Only this one and torch_stable.hpp include libtorch.
#pragma once

#include <ATen/Context.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quench/abi/tensor.h"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

inline at::ScalarType scalar_type(quench_dtype dtype) {
  if (dtype.code == QUENCH_DTYPE_FLOAT && dtype.bits == 64) {
    return at::kDouble;
  }
  if (dtype.code == QUENCH_DTYPE_FLOAT && dtype.bits == 32) {
    return at::kFloat;
  }
  if (dtype.code == QUENCH_DTYPE_FLOAT && dtype.bits == 16) {
    return at::kHalf;
  }
  if (dtype.code == QUENCH_DTYPE_BFLOAT && dtype.bits == 16) {
    return at::kBFloat16;
  }
  if (dtype.code == QUENCH_DTYPE_INT && dtype.bits == 64) {
    return at::kLong;
  }
  if (dtype.code == QUENCH_DTYPE_INT && dtype.bits == 32) {
    return at::kInt;
  }
  if (dtype.code == QUENCH_DTYPE_UINT && dtype.bits == 8) {
    return at::kByte;
  }
  if (dtype.code == QUENCH_DTYPE_BOOL && dtype.bits == 8) {
    return at::kBool;
  }
  fail(QUENCH_UNSUPPORTED, "dtype %s has no libtorch type here", name_of(dtype).c_str());
}

inline quench_dtype dtype_of_scalar(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return kFloat64;
    case at::kFloat:
      return kFloat32;
    case at::kHalf:
      return kFloat16;
    case at::kBFloat16:
      return kBFloat16;
    case at::kLong:
      return kInt64;
    case at::kInt:
      return kInt32;
    case at::kByte:
      return kUInt8;
    default:
      fail(QUENCH_UNSUPPORTED, "a libtorch type that has no dtype here");
  }
}

inline at::Device torch_device(quench_device device) {
  if (device.type == QUENCH_DEVICE_CPU) {
    return at::Device(at::kCPU);
  }
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device.index));
}

// A libtorch tensor on a view's memory, without a copy; valid as long as the view.
inline at::Tensor borrow(const quench_tensor& view) {
  auto* data = static_cast<char*>(view.data) + view.byte_offset;
  const auto options =
      at::TensorOptions().dtype(scalar_type(view.dtype)).device(torch_device(view.device));
  const at::IntArrayRef shape(view.shape, static_cast<size_t>(view.dimensions));
  if (view.strides == nullptr) {
    return at::from_blob(data, shape, options);
  }
  return at::from_blob(
      data, shape, at::IntArrayRef(view.strides, static_cast<size_t>(view.dimensions)), options);
}

// A view of a libtorch tensor; valid as long as the tensor, whose shape and strides it points to.
inline quench_tensor view_of(const at::Tensor& tensor) {
  const at::Device device = tensor.device();
  return {tensor.data_ptr(),
          {device.is_cuda() ? QUENCH_DEVICE_CUDA : QUENCH_DEVICE_CPU,
           device.has_index() ? device.index() : 0},
          static_cast<int32_t>(tensor.dim()),
          dtype_of_scalar(tensor.scalar_type()),
          tensor.sizes().data(),
          tensor.strides().data(),
          0};
}

namespace detail {

[[noreturn]] inline void no_tensor_memory(uint64_t bytes) {
  fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for %llu bytes of a tensor",
       static_cast<unsigned long long>(bytes));
}

// Puts libtorch's CPU tensors in the host's memory, which keeps large blocks for the next tensor of
// their size. Without a host (as in a test of a kernel), libtorch's own allocator is used.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) final {
    const auto* memory = service<quench_memory>(QUENCH_SERVICE_MEMORY);
    if (memory == nullptr) {
      return c10::GetDefaultCPUAllocator()->allocate(bytes);
    }
    void* data = bytes == 0 ? nullptr : memory->allocate(current_host, bytes);
    if (data == nullptr && bytes > 0) {
      no_tensor_memory(bytes);
    }
    return {data, data, release, at::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const final {
    return current_host != nullptr ? release : c10::GetDefaultCPUAllocator()->raw_deleter();
  }
  void copy_data(void* to, const void* from, size_t bytes) const final {
    default_copy_data(to, from, bytes);
  }

 private:
  static void release(void* data) {
    service<quench_memory>(QUENCH_SERVICE_MEMORY)->release(current_host, data);
  }
};

inline HostAllocator host_allocator;
// Set when the plugin's library is loaded, like libtorch's own allocators.
inline const bool kHostAllocatorIsSet = (c10::SetCPUAllocator(&host_allocator), true);

}  // namespace detail

// Calls body(first, count) for blocks of rows (dimension 0) of tensors shaped like `like`, on the
// host's threads; if `like` is on a device, once for all rows. For libtorch operations with
// independent rows: libtorch itself runs on one thread here, and the blocks depend only on the
// shape. The body inherits this thread's modes (inference, gradients).
template <typename Body>
void for_row_blocks(const at::Tensor& like, Body&& body) {
  constexpr int64_t kElements = int64_t{1} << 16;  // per block, which then fits a core's cache
  const int64_t rows = like.size(0);
  if (rows == 0) {
    return;
  }
  if (!like.is_cpu()) {
    body(int64_t{0}, rows);
    return;
  }
  const int64_t width = std::max<int64_t>(1, like.numel() / rows);
  const auto grain = static_cast<uint64_t>(std::max<int64_t>(1, kElements / width));
  const at::ThreadLocalState modes;
  parallel_for(static_cast<uint64_t>(rows), grain, [&](uint64_t begin, uint64_t end) {
    const at::ThreadLocalStateGuard guard(modes);
    body(static_cast<int64_t>(begin), static_cast<int64_t>(end - begin));
  });
}

// An uninitialized CPU tensor in memory that the host may see.
inline at::Tensor host_empty(at::IntArrayRef shape, at::ScalarType type) {
  const auto* memory = service<quench_memory>(QUENCH_SERVICE_MEMORY);
  int64_t count = 1;
  for (const int64_t size : shape) {
    count *= size;
  }
  const auto bytes = static_cast<uint64_t>(count) * c10::elementSize(type);
  void* data = memory->allocate(current_host, bytes > 0 ? bytes : 1);
  if (data == nullptr) {
    detail::no_tensor_memory(bytes);
  }
  return at::from_blob(
      data, shape, [memory](void* held) { memory->release(current_host, held); },
      at::TensorOptions().dtype(type));
}

}  // namespace quench::kit
