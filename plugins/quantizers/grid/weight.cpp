#include "quantizers/grid/weight.hpp"

#include <cmath>

#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;

template <typename T>
void refuse_not_finite(const T* weight, int64_t rows, int64_t columns, const char* name) {
  kit::parallel_for(static_cast<uint64_t>(rows), kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const T value = weight[r * columns + c];
        if (!std::isfinite(value)) {
          kit::fail(QUENCH_NUMERICAL, "%s: weight[%lld, %lld] is %g", name,
                    static_cast<long long>(r), static_cast<long long>(c),
                    static_cast<double>(value));
        }
      }
    }
  });
}

void check_views(const kit::LinearToQuantize& linear) {
  const quench_tensor& view = linear.weight;
  const char* name = linear.info.name;
  if (!kit::same(view.dtype, kit::kFloat64) && !kit::same(view.dtype, kit::kFloat32)) {
    kit::fail(QUENCH_UNSUPPORTED, "%s: weight: wanted float32 or float64, got %s", name,
              kit::name_of(view.dtype).c_str());
  }
  if (view.dimensions != 2 || view.shape[0] < 1 || view.shape[1] < 1) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: weight: wanted [out, in], got %s", name,
              kit::shape_text(kit::shape_of(view)).c_str());
  }
  const quench_tensor& to = linear.dequantized;
  if (to.dimensions != 2 || to.shape[0] != view.shape[0] || to.shape[1] != view.shape[1] ||
      !kit::same(to.dtype, view.dtype)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: dequantized: wanted %s %s, got %s %s", name,
              kit::name_of(view.dtype).c_str(), kit::shape_text(kit::shape_of(view)).c_str(),
              kit::name_of(to.dtype).c_str(), kit::shape_text(kit::shape_of(to)).c_str());
  }
}

}  // namespace

at::Tensor host_weight(const kit::LinearToQuantize& linear) {
  check_views(linear);
  const char* name = linear.info.name;
  const at::Tensor weight = kit::borrow(linear.weight).to(at::kCPU).contiguous();
  if (weight.scalar_type() == at::kDouble) {
    refuse_not_finite(weight.const_data_ptr<double>(), weight.size(0), weight.size(1), name);
  } else {
    refuse_not_finite(weight.const_data_ptr<float>(), weight.size(0), weight.size(1), name);
  }
  return weight;
}

at::Tensor weight_on(const kit::LinearToQuantize& linear, at::Device device) {
  if (linear.weight.device.type == QUENCH_DEVICE_CPU) {
    return host_weight(linear).to(device);
  }
  check_views(linear);
  const at::Tensor weight = kit::borrow(linear.weight).contiguous();
  if (!matrix::all_finite(weight)) {
    kit::fail(QUENCH_NUMERICAL, "%s: weight: not finite", linear.info.name);
  }
  return weight;
}

void keep_float(const at::Tensor& weight, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) {
  kit::borrow(linear.dequantized).copy_(weight);
  sink.number("bits", 16);
  sink.number("bits_per_weight", 16);
  sink.text("skipped", "kept in float, counted as 16 bits");
}

}  // namespace quench::quantizers
