#include "quantizers/grid/round_rows_entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_round_rows_float(const RoundRows<float>* kernel, int device, char* why,
                                 size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_round_rows_double(const RoundRows<double>* kernel, int device, char* why,
                                  size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
