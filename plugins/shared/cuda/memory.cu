#include "shared/cuda/entries.h"
#include "shared/cuda/launch.cuh"

namespace quench::cuda {

extern "C" {

int quench_cuda_allocate(int device, size_t bytes, void** memory, char* why, size_t why_bytes) {
  void* made = nullptr;
  const int failed = guarded(device, why, why_bytes, [&] {
    check(cudaMalloc(&made, bytes > 0 ? bytes : 1), "memory");
    check(cudaMemset(made, 0, bytes), "memory");
  });
  *memory = failed != 0 ? nullptr : made;
  if (failed != 0 && made != nullptr) {
    cudaFree(made);
  }
  return failed;
}

void quench_cuda_release(int device, void* memory) {
  if (cudaSetDevice(device) == cudaSuccess) {
    cudaFree(memory);
  }
}

int quench_cuda_copy(int device, void* to, const void* from, size_t bytes, char* why,
                     size_t why_bytes) {
  return guarded(device, why, why_bytes,
                 [&] { check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "a copy"); });
}

int quench_cuda_pin(int device, void* memory, size_t bytes, int read_only, char* why,
                    size_t why_bytes) {
  const unsigned flags =
      cudaHostRegisterPortable | (read_only != 0 ? cudaHostRegisterReadOnly : 0u);
  const int failed = started(device, why, why_bytes, [&] {
    check(cudaHostRegister(memory, bytes, flags), "page-locking of host memory");
  });
  cudaGetLastError();  // a refusal is no error of what comes next
  return failed;
}

void quench_cuda_unpin(int device, void* memory) {
  if (cudaSetDevice(device) == cudaSuccess) {
    cudaHostUnregister(memory);
  }
}
}

}  // namespace quench::cuda
