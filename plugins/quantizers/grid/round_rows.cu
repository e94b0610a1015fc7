#include "quantizers/grid/round_rows_entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

namespace {

template <typename T>
void run(const RoundRows<T>& host) {
  const int64_t weights = host.rows * host.columns;
  const int64_t grids = host.rows * host.groups;
  const cuda::DeviceArray<T> weight(host.weight, weights);
  const cuda::DeviceArray<uint8_t> dead(host.dead, host.dead == nullptr ? 0 : host.columns);
  const cuda::DeviceArray<uint8_t> codes(host.codes == nullptr ? 0 : weights);
  const cuda::DeviceArray<double> scales(grids);
  const cuda::DeviceArray<double> zeros(grids);
  RoundRows<T> kernel = host;
  kernel.weight = weight.data();
  kernel.dead = dead.data();
  kernel.codes = codes.data();
  kernel.scales = scales.data();
  kernel.zeros = zeros.data();
  cuda::Launch{}(kernel);
  if (host.codes != nullptr) {
    codes.copy_to(host.codes);
  }
  scales.copy_to(host.scales);
  zeros.copy_to(host.zeros);
}

}  // namespace

extern "C" {

int quench_cuda_round_rows_float(const RoundRows<float>* kernel, int device, char* why,
                                 size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { run(*kernel); });
}

int quench_cuda_round_rows_double(const RoundRows<double>* kernel, int device, char* why,
                                  size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { run(*kernel); });
}
}

}  // namespace quench::quantizers
