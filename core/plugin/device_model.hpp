// Identifies the kind of device that computes, for content keys.
#pragma once

#include <string>

#include "quench/abi/tensor.h"

namespace quench {

// "cpu", or the model of a GPU from its driver ("NVIDIA H200"): the number of a device says only
// where it is plugged in. "cuda" if no driver knows the device, so that nothing can be computed on
// it. `driver`: the library to ask.
std::string device_model(quench_device device, const char* driver = "libcuda.so.1");

}  // namespace quench
