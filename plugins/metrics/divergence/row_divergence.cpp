#include "metrics/divergence/row_divergence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace quench::metrics {

namespace {

constexpr size_t kLanes = 8;

// exp(x) for x <= 0, to 2 units in the last place, in a form that the compiler vectorizes: x = n ln
// 2 + r, a polynomial of degree 6 for e^r, and n added to the exponent.
inline float exponential(float x) {
  const float clamped = std::max(x, -87.0F);
  const float n = std::nearbyint(clamped * 1.44269504F);
  const float r = (clamped - n * 0.693145752F) - n * 1.42860677e-6F;
  float p = 1.3888889e-3F;
  p = p * r + 8.3333333e-3F;
  p = p * r + 4.1666668e-2F;
  p = p * r + 1.6666667e-1F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto shifted = std::bit_cast<int32_t>(p) + (static_cast<int32_t>(n) << 23);
  return x < -87.0F ? 0.0F : std::bit_cast<float>(shifted);
}
inline double exponential(double x) {
  return std::exp(x);
}

template <typename T>
size_t top(std::span<const T> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// With a = first − max and b = second − max:
//   KL = Σ e^a (a − b) / Σ e^a − log Σ e^a + log Σ e^b
template <typename T>
RowDivergence compare(std::span<const T> first, std::span<const T> second) {
  const size_t top_first = top(first);
  const size_t top_second = top(second);
  const T peak_first = first[top_first];
  const T peak_second = second[top_second];
  std::array<double, kLanes> sum_first{};
  std::array<double, kLanes> sum_second{};
  std::array<double, kLanes> weighted{};
  for (size_t i = 0; i < first.size(); i += kLanes) {
    const size_t lanes = std::min(kLanes, first.size() - i);
    for (size_t l = 0; l < lanes; ++l) {
      const T a = first[i + l] - peak_first;
      const T b = second[i + l] - peak_second;
      const T e = exponential(a);
      sum_first[l] += static_cast<double>(e);
      sum_second[l] += static_cast<double>(exponential(b));
      weighted[l] += static_cast<double>(e) * static_cast<double>(a - b);
    }
  }
  double p = 0;
  double q = 0;
  double mixed = 0;
  for (size_t l = 0; l < kLanes; ++l) {
    p += sum_first[l];
    q += sum_second[l];
    mixed += weighted[l];
  }
  return {mixed / p - std::log(p) + std::log(q), top_first == top_second};
}

}  // namespace

RowDivergence row_divergence(std::span<const float> first, std::span<const float> second) {
  return compare(first, second);
}
RowDivergence row_divergence(std::span<const double> first, std::span<const double> second) {
  return compare(first, second);
}

}  // namespace quench::metrics
