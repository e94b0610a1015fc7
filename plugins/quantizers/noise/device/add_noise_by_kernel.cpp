#include "quantizers/noise/device/add_noise_by_kernel.hpp"

#include "quantizers/noise/device/entries.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

template <typename T>
void run(const at::Tensor& weight, const CodedThere& rounded, Groups groups,
         const at::Tensor& noise, int64_t first, double length, const at::Tensor& out,
         const char* entry) {
  const int64_t columns = weight.size(1);
  const AddNoise<T> kernel{weight.const_data_ptr<T>() + first * columns,
                           noise.size(0),
                           columns,
                           groups.size,
                           groups.count,
                           rounded.codes.const_data_ptr<uint8_t>() + first * columns,
                           rounded.scales.const_data_ptr<double>() + first * groups.count,
                           rounded.zeros.const_data_ptr<double>() + first * groups.count,
                           noise.const_data_ptr<double>(),
                           length,
                           out.data_ptr<T>() + first * columns};
  cuda::run_kernel(entry, kernel, weight.device());
}

}  // namespace

void add_noise_by_kernel(const at::Tensor& weight, const CodedThere& rounded, Groups groups,
                         const at::Tensor& noise, int64_t first, double length,
                         const at::Tensor& out) {
  if (weight.scalar_type() == at::kDouble) {
    run<double>(weight, rounded, groups, noise, first, length, out, kAddNoiseDouble);
  } else {
    run<float>(weight, rounded, groups, noise, first, length, out, kAddNoiseFloat);
  }
}

}  // namespace quench::quantizers
