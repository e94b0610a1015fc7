#include "shared/cuda/entries.h"

#include <cuda_runtime.h>

#include <cstdio>

#include "shared/cuda/launch.cuh"

extern "C" {

const char* quench_cuda_architectures() {
  return QUENCH_CUDA_ARCHITECTURES;
}

int quench_cuda_devices(char* why, size_t why_bytes) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) {
    std::snprintf(why, why_bytes, "%s", cudaGetErrorString(result));
    return -1;
  }
  return count;
}

void quench_cuda_use_stream(void* stream) {
  quench::cuda::kernel_stream() = static_cast<cudaStream_t>(stream);
}
}
