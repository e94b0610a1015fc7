#include "models/decoder/norm_kernels.hpp"

#include <cmath>

#include "models/decoder/double_backward/ordered_sum.hpp"
#include "quench/kit/multiversion.hpp"

namespace quench::decoder::kernel {

namespace {

// The mean in float64 of each(c).
template <typename Each>
[[gnu::always_inline]] inline double mean_over(size_t columns, Each&& each) {
  return ordered_sum(columns, each) / static_cast<double>(columns);
}

template <typename T>
[[gnu::always_inline]] inline double normalize_row(const T* x, bool centered, double eps,
                                                   size_t columns, T* normal) {
  const double mean = centered ? mean_over(columns, [&](size_t c) { return x[c]; }) : 0.0;
  for (size_t c = 0; c < columns; ++c) {
    normal[c] = static_cast<T>(static_cast<double>(x[c]) - mean);
  }
  const double square = mean_over(columns, [&](size_t c) {
    return static_cast<double>(normal[c]) * static_cast<double>(normal[c]);
  });
  const double inverse = 1.0 / std::sqrt(square + eps);
  const T factor = static_cast<T>(inverse);
  for (size_t c = 0; c < columns; ++c) {
    normal[c] *= factor;
  }
  return inverse;
}

template <typename T>
[[gnu::always_inline]] inline void project_row(const T* w, const T* normal, double inverse,
                                               bool centered, size_t columns, T* out) {
  const auto along = static_cast<T>(mean_over(columns, [&](size_t c) { return w[c] * normal[c]; }));
  const auto mean =
      static_cast<T>(centered ? mean_over(columns, [&](size_t c) { return w[c]; }) : 0.0);
  const T factor = static_cast<T>(inverse);
  for (size_t c = 0; c < columns; ++c) {
    out[c] = factor * (w[c] - mean - normal[c] * along);
  }
}

template <typename T>
[[gnu::always_inline]] inline void backward_row(const T* dy, const T* normal, double inverse,
                                                bool centered, const T* weight, size_t columns,
                                                T* sums, T* dx) {
  for (size_t c = 0; c < columns; ++c) {
    sums[c] += dy[c] * normal[c];
  }
  if (weight == nullptr) {
    project_row(dy, normal, inverse, centered, columns, dx);
    return;
  }
  for (size_t c = 0; c < columns; ++c) {
    dx[c] = dy[c] * weight[c];
  }
  project_row(dx, normal, inverse, centered, columns, dx);
}

template <typename T>
[[gnu::always_inline]] inline void weigh_row(const T* weight, const T* bias, size_t columns,
                                             T* row) {
  if (weight != nullptr) {
    for (size_t c = 0; c < columns; ++c) {
      row[c] *= weight[c];
    }
  }
  if (bias != nullptr) {
    for (size_t c = 0; c < columns; ++c) {
      row[c] += bias[c];
    }
  }
}

}  // namespace

QUENCH_MULTIVERSION double normalize(const float* x, bool centered, double eps, size_t columns,
                                     float* normal) {
  return normalize_row(x, centered, eps, columns, normal);
}
QUENCH_MULTIVERSION double normalize(const double* x, bool centered, double eps, size_t columns,
                                     double* normal) {
  return normalize_row(x, centered, eps, columns, normal);
}

QUENCH_MULTIVERSION void project(const float* w, const float* normal, double inverse, bool centered,
                                 size_t columns, float* out) {
  project_row(w, normal, inverse, centered, columns, out);
}
QUENCH_MULTIVERSION void project(const double* w, const double* normal, double inverse,
                                 bool centered, size_t columns, double* out) {
  project_row(w, normal, inverse, centered, columns, out);
}

QUENCH_MULTIVERSION void normalize_backward(const float* dy, const float* normal, double inverse,
                                            bool centered, const float* weight, size_t columns,
                                            float* sums, float* dx) {
  backward_row(dy, normal, inverse, centered, weight, columns, sums, dx);
}
QUENCH_MULTIVERSION void normalize_backward(const double* dy, const double* normal, double inverse,
                                            bool centered, const double* weight, size_t columns,
                                            double* sums, double* dx) {
  backward_row(dy, normal, inverse, centered, weight, columns, sums, dx);
}

QUENCH_MULTIVERSION void weigh(const float* weight, const float* bias, size_t columns, float* row) {
  weigh_row(weight, bias, columns, row);
}
QUENCH_MULTIVERSION void weigh(const double* weight, const double* bias, size_t columns,
                               double* row) {
  weigh_row(weight, bias, columns, row);
}

}  // namespace quench::decoder::kernel
