#include <string>

#include "quantizers/gptq/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

namespace {

template <typename From, typename T, typename Numbers>
int run(const ColumnLoop<From, T, Numbers>& loop, int device, char* why, size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] {
    if (!has_kernels(loop)) {
      throw std::runtime_error("block = " + std::to_string(loop.block) + ", wanted 1.." +
                               std::to_string(QuantizePanel<T, Numbers>::kWidest) + " on a device");
    }
    run_columns(loop, cuda::Launch{});
  });
}

}  // namespace

extern "C" {

int quench_cuda_columns_float_float(const ColumnLoop<float, float>* loop, int device, char* why,
                                    size_t why_bytes) {
  return run(*loop, device, why, why_bytes);
}

int quench_cuda_columns_float_double(const ColumnLoop<float, double>* loop, int device, char* why,
                                     size_t why_bytes) {
  return run(*loop, device, why, why_bytes);
}

int quench_cuda_columns_double_double(const ColumnLoop<double, double>* loop, int device, char* why,
                                      size_t why_bytes) {
  return run(*loop, device, why, why_bytes);
}

int quench_cuda_columns_to_format_float_float(const ColumnLoop<float, float, FormatNumbers>* loop,
                                              int device, char* why, size_t why_bytes) {
  return run(*loop, device, why, why_bytes);
}

int quench_cuda_columns_to_format_float_double(const ColumnLoop<float, double, FormatNumbers>* loop,
                                               int device, char* why, size_t why_bytes) {
  return run(*loop, device, why, why_bytes);
}

int quench_cuda_columns_to_format_double_double(
    const ColumnLoop<double, double, FormatNumbers>* loop, int device, char* why,
    size_t why_bytes) {
  return run(*loop, device, why, why_bytes);
}
}

}  // namespace quench::quantizers
