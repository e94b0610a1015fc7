#include "quantizers/gram/squares_entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

extern "C" {

int quench_cuda_column_squares_float(const ColumnSquares<float>* kernel, int device, char* why,
                                     size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}

int quench_cuda_column_squares_double(const ColumnSquares<double>* kernel, int device, char* why,
                                      size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { cuda::Launch{}(*kernel); });
}
}

}  // namespace quench::quantizers
