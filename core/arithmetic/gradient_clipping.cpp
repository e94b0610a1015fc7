#include "core/arithmetic/gradient_clipping.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace quench {

namespace {

constexpr size_t kLanes = 16;  // independent sums that fill vector registers
constexpr double kClipEpsilon = 1e-6;

}  // namespace

double sum_of_squares(std::span<const float> chunk) {
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= chunk.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = chunk[i + lane];
      sums[lane] += value * value;
    }
  }
  for (; i < chunk.size(); ++i) {
    const double value = chunk[i];
    sums[i % kLanes] += value * value;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double norm_of_sums(std::span<const double> sums) {
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

double clip_factor(double norm, double limit) {
  return limit > 0 ? std::min(1.0, limit / (norm + kClipEpsilon)) : 1.0;
}

}  // namespace quench
