#include "quantizers/codebook/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_code_blocks_float(const CodeBlocks<float>* kernel, int device, char* why,
                                  size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_code_blocks_double(const CodeBlocks<double>* kernel, int device, char* why,
                                   size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
