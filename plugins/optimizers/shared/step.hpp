// The common part of the rules: checks the arguments of a step and divides its work into tasks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"
#include "shared/cuda/library.hpp"

namespace quench::optimizers {

// Elements that one task updates. A task's weight, gradient and state stay in a core's own cache,
// and the tasks are the same for any number of threads.
inline constexpr uint64_t kElementsPerTask = uint64_t{1} << 15;

struct Views {
  std::span<float> weight;
  std::span<float> gradient;
};

// Throws kit::Error unless both are float32, on `device`, with `elements` elements.
inline Views views_of(const quench_step_args& args, quench_device device, size_t elements) {
  const Views out{kit::elements_on<float>(device, *args.weight, "weight"),
                  kit::elements_on<float>(device, *args.gradient, "gradient")};
  kit::expects(out.weight.size() == elements && out.gradient.size() == elements,
               "step: weight and gradient: wanted the shape given to `begin`");
  return out;
}

// Calls body(begin, end) over all elements, in tasks.
template <typename Body>
void for_elements(size_t elements, Body body) {
  if (elements <= kElementsPerTask) {
    body(size_t{0}, elements);
    return;
  }
  kit::parallel_for(elements, kElementsPerTask, [&](uint64_t begin, uint64_t end) {
    body(static_cast<size_t>(begin), static_cast<size_t>(end));
  });
}

// Host memory, or a GPU that this build has kernels for.
inline void expect_host_memory_or_kernels(quench_device device) {
  if (device.type == QUENCH_DEVICE_CUDA && !std::filesystem::exists(cuda::kernels_file())) {
    kit::fail(QUENCH_UNSUPPORTED, "this build has no kernels for GPUs");
  }
  if (device.type != QUENCH_DEVICE_CPU && device.type != QUENCH_DEVICE_CUDA) {
    kit::fail(QUENCH_UNSUPPORTED, "this optimizer steps in host memory or on a GPU");
  }
}

}  // namespace quench::optimizers
