#include "quantizers/rotated/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_multiply_rows_float(const MultiplyRows<float>* kernel, int device, char* why,
                                    size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_multiply_rows_double(const MultiplyRows<double>* kernel, int device, char* why,
                                     size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
