#include "models/decoder/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::decoder {

extern "C" {

int quench_cuda_loss_rows(const LossRows* kernel, int device, char* why, size_t why_bytes) {
  return cuda::started(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::decoder
