#include "quantizers/awq/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

namespace {

template <typename Kernel>
int run(const Kernel* kernel, int device, char* why, size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

}  // namespace

extern "C" {

int quench_cuda_round_scaled_float(const RoundScaled<float>* kernel, int device, char* why,
                                   size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}

int quench_cuda_round_scaled_double(const RoundScaled<double>* kernel, int device, char* why,
                                    size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}

int quench_cuda_round_scaled_to_format_float(const RoundScaledToFormat<float>* kernel, int device,
                                             char* why, size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}

int quench_cuda_round_scaled_to_format_double(const RoundScaledToFormat<double>* kernel, int device,
                                              char* why, size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}

int quench_cuda_add_magnitudes_float(const AddMagnitudes<float>* kernel, int device, char* why,
                                     size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}

int quench_cuda_add_magnitudes_double(const AddMagnitudes<double>* kernel, int device, char* why,
                                      size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}

int quench_cuda_add_relative_magnitudes_float(const AddRelativeMagnitudes<float>* kernel,
                                              int device, char* why, size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}

int quench_cuda_add_relative_magnitudes_double(const AddRelativeMagnitudes<double>* kernel,
                                               int device, char* why, size_t why_bytes) {
  return run(kernel, device, why, why_bytes);
}
}

}  // namespace quench::quantizers
