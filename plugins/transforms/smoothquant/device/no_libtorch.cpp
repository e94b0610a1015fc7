// In a build without libtorch, which has no family that computes on a device.
#include "quench/kit/error.hpp"
#include "transforms/smoothquant/device/magnitudes.hpp"

namespace quench::transforms {

bool on_device(const quench_tensor& rows) {
  return rows.device.type != QUENCH_DEVICE_CPU;
}

std::vector<double> largest_on_device(const quench_observe_args&) {
  kit::fail(QUENCH_UNSUPPORTED, "smoothquant: this build has no libtorch; wanted device cpu");
}

}  // namespace quench::transforms
