#include "models/decoder/device.hpp"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "quench/kit/torch.hpp"

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

void expect_default_stream(const void* stream) {
  if (stream != nullptr) {
    kit::fail(QUENCH_UNSUPPORTED, "only the default stream is supported");
  }
}

void* DeviceMemory::allocate(uint64_t bytes) {
  const auto length = static_cast<int64_t>(std::clamp<uint64_t>(bytes, 1, INT64_MAX));
  if (device_.is_cpu()) {
    const at::Tensor block = kit::host_empty({length}, at::kByte);
    return blocks_.emplace(block.data_ptr(), block).first->first;
  }
  try {
    const at::Tensor block = at::empty({length}, at::TensorOptions(at::kByte).device(device_));
    return blocks_.emplace(block.data_ptr(), block).first->first;
  } catch (const c10::OutOfMemoryError&) {
    kit::fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for %llu bytes on %s",
              static_cast<unsigned long long>(bytes), device_.str().c_str());
  }
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
