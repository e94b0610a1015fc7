#include "quantizers/cache/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_round_cached_float(const cuda::ForEach<RoundCached<float>>* kernel, int device,
                                   char* why, size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_round_cached_double(const cuda::ForEach<RoundCached<double>>* kernel, int device,
                                    char* why, size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
