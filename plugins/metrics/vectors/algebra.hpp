// Operations on long vectors in host memory. Sums run in float64 over fixed ranges, for any number
// of threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "quench/kit/host.hpp"

namespace quench::metrics {

constexpr uint64_t kRange = uint64_t{1} << 14;  // elements that are summed one after the other

// The sum of f(begin, end) over the ranges, added in their order.
template <typename Function>
double sum_over(uint64_t count, Function&& f) {
  std::vector<double> partial((count + kRange - 1) / kRange);
  kit::parallel_for(count, kRange,
                    [&](uint64_t begin, uint64_t end) { partial[begin / kRange] = f(begin, end); });
  double sum = 0;
  for (const double part : partial) {
    sum += part;
  }
  return sum;
}

template <typename T>
double dot(std::span<const T> a, std::span<const T> b) {
  return sum_over(a.size(), [&](uint64_t begin, uint64_t end) {
    double sum = 0;
    for (uint64_t i = begin; i < end; ++i) {
      sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    return sum;
  });
}

template <typename T>
double norm(std::span<const T> a) {
  return std::sqrt(dot(a, a));
}

// y = scale * y + factor * x.
template <typename T>
void combine(std::span<T> y, double scale, double factor, std::span<const T> x) {
  kit::parallel_for(y.size(), kRange, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      y[i] = static_cast<T>(scale * static_cast<double>(y[i]) + factor * static_cast<double>(x[i]));
    }
  });
}

}  // namespace quench::metrics
