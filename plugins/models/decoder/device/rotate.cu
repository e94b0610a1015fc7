#include "models/decoder/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::decoder {

namespace {

template <typename Rule>
int start(const cuda::ForEach<Rule>* kernel, int device, char* why, size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

}  // namespace

extern "C" {

int quench_cuda_rotate_double(const cuda::ForEach<RotateElements<double, double>>* kernel,
                              int device, char* why, size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_rotate_float(const cuda::ForEach<RotateElements<float, float>>* kernel, int device,
                             char* why, size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_rotate_bfloat16(
    const cuda::ForEach<RotateElements<cuda::Bfloat16, cuda::Bfloat16>>* kernel, int device,
    char* why, size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_rotate_bfloat16_by_float(
    const cuda::ForEach<RotateElements<cuda::Bfloat16, float>>* kernel, int device, char* why,
    size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}
}

}  // namespace quench::decoder
