// The copies of what crosses: elements of tensors, often hundreds of megabytes in one call.
#pragma once

#include <cstdint>

#include "quench/abi/tensor.h"

namespace quench::wire {

// Like memcpy, for ranges of any size. Ranges that overlap are undefined. Never throws.
using Copy = void (*)(void* to, const void* from, uint64_t bytes) noexcept;

// What copies from now on, instead of memcpy on the calling thread. Set before the first call.
void set_copy(Copy copy);
// Accepts null pointers for 0 bytes.
void copy(void* to, const void* from, uint64_t bytes);

// Copies between a tensor on a device and one of equal shape and dtype in host memory; throws
// Error.
using DeviceCopy = void (*)(const quench_tensor& from, const quench_tensor& to);

// What copies from and to devices from now on; before, tensors there are refused. Set before the
// first call.
void set_device_copy(DeviceCopy copy);
// Throws Error(UNSUPPORTED) for a tensor on a device if nothing copies there.
void require_device_copy(const quench_tensor& tensor);
void copy_on_device(const quench_tensor& from, const quench_tensor& to);

}  // namespace quench::wire
