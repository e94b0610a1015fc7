#include "quantizers/hqq/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_solve_rows_float(const SolveRows<float>* kernel, int device, char* why,
                                 size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_solve_rows_double(const SolveRows<double>* kernel, int device, char* why,
                                  size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
