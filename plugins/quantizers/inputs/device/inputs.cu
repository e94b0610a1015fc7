#include "quantizers/inputs/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

namespace {

template <typename Kernel>
int start(const Kernel* kernel, int device, char* why, size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

}  // namespace

extern "C" {

int quench_cuda_input_ranges_float(const InputRanges<float>* kernel, int device, char* why,
                                   size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_input_ranges_double(const InputRanges<double>* kernel, int device, char* why,
                                    size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_round_inputs_float(const RoundInputs<float>* kernel, int device, char* why,
                                   size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}

int quench_cuda_round_inputs_double(const RoundInputs<double>* kernel, int device, char* why,
                                    size_t why_bytes) {
  return start(kernel, device, why, why_bytes);
}
}

}  // namespace quench::quantizers
