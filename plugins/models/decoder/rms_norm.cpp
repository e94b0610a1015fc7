#include "models/decoder/rms_norm.hpp"

#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "quench/kit/host.hpp"

namespace quench::decoder {

namespace {

constexpr size_t kLanes = 8;             // partial sums of a row
constexpr uint64_t kTaskSize = 1 << 15;  // elements a task normalizes

template <typename T>
double mean_square(const T* row, size_t columns) {
  double partial[kLanes] = {};
  size_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(row[c + lane]);
      partial[lane] += value * value;
    }
  }
  for (; c < columns; ++c) {
    const auto value = static_cast<double>(row[c]);
    partial[c % kLanes] += value * value;
  }
  const double sum = ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
                     ((partial[4] + partial[5]) + (partial[6] + partial[7]));
  return sum / static_cast<double>(columns);
}

template <typename T>
void normalize_rows(const at::Tensor& x, const at::Tensor& weight, double eps,
                    NormRounding rounding, const at::Tensor& y) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto* from = static_cast<const T*>(x.const_data_ptr());
  const auto* scale = static_cast<const T*>(weight.const_data_ptr());
  auto* to = static_cast<T*>(y.data_ptr());
  const auto columns = static_cast<size_t>(weight.numel());
  const uint64_t rows = static_cast<uint64_t>(x.numel()) / columns;
  const uint64_t grain = std::max<uint64_t>(1, kTaskSize / columns);
  kit::parallel_for(rows, grain, [&](uint64_t begin, uint64_t end) {
    for (uint64_t row = begin; row < end; ++row) {
      const T* in = from + row * columns;
      T* out = to + row * columns;
      const auto inverse = static_cast<Wide>(1.0 / std::sqrt(mean_square(in, columns) + eps));
      for (size_t c = 0; c < columns; ++c) {
        Wide value = static_cast<Wide>(in[c]) * inverse;
        if (rounding == NormRounding::kBeforeWeight) {
          value = static_cast<Wide>(static_cast<T>(value));
        }
        out[c] = static_cast<T>(value * static_cast<Wide>(scale[c]));
      }
    }
  });
}

void normalize_on_device(const at::Tensor& x, const at::Tensor& weight, double eps,
                         NormRounding rounding, const at::Tensor& y) {
  const at::ScalarType type = x.scalar_type();
  const at::Tensor wide = type == at::kDouble ? x : x.to(at::kFloat);
  at::Tensor value = wide.mul(at::rsqrt(at::mean(wide.mul(wide), {-1}, true).add_(eps)));
  if (rounding == NormRounding::kBeforeWeight) {
    value = value.to(type);
  }
  y.copy_(value.mul(weight.to(value.scalar_type())));
}

}  // namespace

void rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, NormRounding rounding,
              const at::Tensor& y) {
  if (!x.is_cpu()) {
    return normalize_on_device(x, weight, eps, rounding, y);
  }
  switch (x.scalar_type()) {
    case at::kDouble:
      return normalize_rows<double>(x, weight, eps, rounding, y);
    case at::kFloat:
      return normalize_rows<float>(x, weight, eps, rounding, y);
    case at::kHalf:
      return normalize_rows<c10::Half>(x, weight, eps, rounding, y);
    default:
      return normalize_rows<c10::BFloat16>(x, weight, eps, rounding, y);
  }
}

}  // namespace quench::decoder
