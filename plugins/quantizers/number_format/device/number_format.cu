#include "quantizers/number_format/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_round_to_format_float(const RoundRowsToFormat<float>* kernel, int device, char* why,
                                      size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_round_to_format_double(const RoundRowsToFormat<double>* kernel, int device,
                                       char* why, size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
