// What computes: the processor, or a GPU that the CUDA driver of this machine knows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/abi/tensor.h"

namespace quench {

constexpr const char* kCudaDriver = "libcuda.so.1";

struct Gpu {
  std::string name;  // "NVIDIA H200"
  int major = 0;     // compute capability
  int minor = 0;
  uint64_t memory = 0;  // bytes in all
};

struct Gpus {
  std::vector<Gpu> devices;  // by the number N of cuda:N
  int cuda = 0;         // the newest CUDA that the driver serves, 13020 for 13.2; 0 without one
  std::string absence;  // why there is none; empty if there is one
};

// Asks the driver once and remembers its answer. `driver`: the library to ask.
const Gpus& gpus(const char* driver = kCudaDriver);

// Throws Error(INVALID_ARGUMENT) if the machine does not have this device.
void require_device(quench_device device, const char* driver = kCudaDriver);

// The kind of device, for content keys: "cpu", or model and compute capability of a GPU ("NVIDIA
// H200, 9.0"), for its number says only where it is plugged in. "cuda" if no driver knows the
// device, so that nothing can be computed on it.
std::string device_model(quench_device device, const char* driver = kCudaDriver);

}  // namespace quench
