#include "models/decoder/device.hpp"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <string>

#include "models/decoder/recorded.hpp"
#include "quench/abi/extension/device_memory.h"
#include "quench/kit/torch.hpp"
#include "shared/cuda/device_memory.hpp"

namespace quench::decoder {

at::Device usable_device(quench_device device) {
  if (device.type == QUENCH_DEVICE_CPU) {
    return kit::torch_device(device);
  }
  if (device.type != QUENCH_DEVICE_CUDA) {
    kit::fail(QUENCH_UNSUPPORTED, "device type %d: wanted the CPU or CUDA", device.type);
  }
  if (!at::hasCUDA()) {
    kit::fail(QUENCH_UNSUPPORTED, "device cuda:%d: libtorch finds no CUDA device", device.index);
  }
  if (const int count = at::detail::getCUDAHooks().deviceCount(); device.index >= count) {
    kit::fail(QUENCH_UNSUPPORTED, "device cuda:%d: libtorch finds %d CUDA devices, from 0 on",
              device.index, count);
  }
  keep_precision();
  return kit::torch_device(device);
}

void keep_precision() {
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowFP16ReductionCuBLAS(false);
  context.setAllowBF16ReductionCuBLAS(false);
  context.setAllowFP16AccumulationCuBLAS(false);
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  context.setDeterministicFillUninitializedMemory(
      false);  // every value is written before it is read
}

OneOrderOfSums::OneOrderOfSums(at::Device device) : on_device_(device.is_cuda()) {
  if (on_device_) {
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  }
}

OneOrderOfSums::~OneOrderOfSums() {
  if (on_device_) {
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  }
}

void expect_default_stream(const void* stream) {
  if (stream != nullptr) {
    kit::fail(QUENCH_UNSUPPORTED, "only the default stream is supported");
  }
}

namespace {

[[noreturn]] void no_memory(uint64_t bytes, const std::string& where) {
  kit::fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for %llu bytes on %s",
            static_cast<unsigned long long>(bytes), where.c_str());
}

int64_t length_of(uint64_t bytes) {
  return static_cast<int64_t>(std::clamp<uint64_t>(bytes, 1, INT64_MAX));
}

}  // namespace

void* DeviceMemory::allocate(uint64_t bytes) {
  if (device_.is_cpu()) {
    return keep(kit::host_empty({length_of(bytes)}, at::kByte));
  }
  try {
    return keep(at::empty({length_of(bytes)}, at::TensorOptions(at::kByte).device(device_)));
  } catch (const c10::OutOfMemoryError&) {
    no_memory(bytes, device_.str());
  }
}

void* DeviceMemory::allocate_host(uint64_t bytes) {
  try {
    return keep(at::empty({length_of(bytes)}, at::TensorOptions(at::kByte).pinned_memory(true)));
  } catch (const c10::Error&) {  // the driver's own words do not say how much was wanted
    no_memory(bytes, "the host, page-locked for " + device_.str());
  }
}

void DeviceMemory::pin_host(void* memory, uint64_t bytes, uint32_t flags) const {
  cuda::pin(device_.index(), memory, bytes, (flags & QUENCH_PIN_READ_ONLY) != 0);
}

void DeviceMemory::unpin_host(void* memory) const {
  cuda::unpin(device_.index(), memory);
}

void* DeviceMemory::keep(const at::Tensor& block) {
  return blocks_.emplace(block.data_ptr(), block).first->first;
}

DeviceMemory::Available DeviceMemory::available() const {
  auto* allocator = c10::getDeviceAllocator(device_.type());
  const auto [free, total] = allocator->getMemoryInfo(device_.index());
  const auto stats = allocator->getDeviceStats(device_.index());
  const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const int64_t cached = stats.reserved_bytes[all].current - stats.allocated_bytes[all].current;
  if (records(device_)) {  // what it keeps may be a recording's, which nothing else can have
    return {free, total};
  }
  return {free + static_cast<uint64_t>(std::max<int64_t>(cached, 0)), total};
}

void DeviceMemory::release(void* memory) {
  blocks_.erase(memory);
}

void copy(const quench_tensor& from, const quench_tensor& to) {
  const auto have = kit::shape_of(from);
  const auto want = kit::shape_of(to);
  if (!std::equal(have.begin(), have.end(), want.begin(), want.end()) ||
      !kit::same(from.dtype, to.dtype)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "copy: from %s %s to %s %s",
              kit::name_of(from.dtype).c_str(), kit::shape_text(have).c_str(),
              kit::name_of(to.dtype).c_str(), kit::shape_text(want).c_str());
  }
  kit::borrow(to).copy_(kit::borrow(from));
}

}  // namespace quench::decoder
