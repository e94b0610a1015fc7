#include "quantizers/int8/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_int8_code_rows(const CodeRows* kernel, int device, char* why, size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_int8_sums_to_float(const DecodeSums<float>* kernel, int device, char* why,
                                   size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_int8_sums_to_double(const DecodeSums<double>* kernel, int device, char* why,
                                    size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
