#include "quantizers/gptq/device/entries.hpp"
#include "shared/cuda/launch.cuh"

namespace quench::quantizers {

namespace {

using cuda::DeviceArray;

template <typename From, typename T>
void run(const ColumnLoop<From, T>& host) {
  if (!has_kernels(host)) {
    throw std::runtime_error("block = " + std::to_string(host.block) + ", wanted 1.." +
                             std::to_string(QuantizePanel<T>::kWidest) + " on a device");
  }
  const int64_t weights = host.rows * host.columns;
  const int64_t square = host.columns * host.columns;
  const int64_t grids = host.rows * host.groups;
  const int64_t passed_on = host.block * host.rows;
  const int64_t corrected = host.correction != nullptr ? 1 : 0;
  const DeviceArray<From> weight(host.weight, weights);
  const DeviceArray<uint8_t> dead(host.dead, host.columns);
  const DeviceArray<int32_t> order(host.order, host.columns);
  const DeviceArray<int32_t> group(host.group, host.columns);
  const DeviceArray<double> upper(host.upper, square);
  const DeviceArray<double> pivots(host.pivots, host.columns);
  const DeviceArray<double> correction(host.correction, corrected * square);
  const DeviceArray<uint8_t> codes(weights);
  const DeviceArray<double> scales(grids);
  const DeviceArray<double> zeros(grids);
  const DeviceArray<double> loss(host.loss, host.rows);
  const DeviceArray<T> turned_weights(weights);
  const DeviceArray<uint8_t> turned(weights);
  const DeviceArray<double> grid_scales(grids);
  const DeviceArray<double> grid_zeros(grids);
  const DeviceArray<T> errors(passed_on);
  const DeviceArray<T> negated(corrected * passed_on);
  ColumnLoop<From, T> loop = host;
  loop.weight = weight.data();
  loop.dead = dead.data();
  loop.order = order.data();
  loop.group = group.data();
  loop.upper = upper.data();
  loop.pivots = pivots.data();
  loop.correction = correction.data();
  loop.codes = codes.data();
  loop.scales = scales.data();
  loop.zeros = zeros.data();
  loop.loss = loss.data();
  loop.weights = turned_weights.data();
  loop.turned = turned.data();
  loop.grid_scales = grid_scales.data();
  loop.grid_zeros = grid_zeros.data();
  loop.errors = errors.data();
  loop.negated = negated.data();
  run_columns(loop, cuda::Launch{});
  codes.copy_to(host.codes);
  scales.copy_to(host.scales);
  zeros.copy_to(host.zeros);
  loss.copy_to(host.loss);
}

}  // namespace

extern "C" {

int quench_cuda_columns_float_float(const ColumnLoop<float, float>* loop, int device, char* why,
                                    size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { run(*loop); });
}

int quench_cuda_columns_float_double(const ColumnLoop<float, double>* loop, int device, char* why,
                                     size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { run(*loop); });
}

int quench_cuda_columns_double_double(const ColumnLoop<double, double>* loop, int device, char* why,
                                      size_t why_bytes) {
  return cuda::guarded(device, why, why_bytes, [&] { run(*loop); });
}
}

}  // namespace quench::quantizers
