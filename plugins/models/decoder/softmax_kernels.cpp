#include "models/decoder/softmax_kernels.hpp"

#include <limits>

#include "models/decoder/transcendental.hpp"
#include "quench/kit/multiversion.hpp"

namespace quench::decoder::kernel {

namespace {

constexpr size_t kLanes = 16;  // partial sums

template <typename T>
[[gnu::always_inline]] inline void hide_of(const bool* sees, size_t count, T* scores) {
  for (size_t i = 0; i < count; ++i) {
    scores[i] = sees[i] ? scores[i] : -std::numeric_limits<T>::infinity();
  }
}

template <typename T>
[[gnu::always_inline]] inline void slopes_of(const T* capped, T cap, size_t count, T* slopes) {
  for (size_t i = 0; i < count; ++i) {
    const T part = capped[i] / cap;
    slopes[i] = T(1) - part * part;
  }
}

template <typename T>
[[gnu::always_inline]] inline T largest_of(const T* row, size_t count) {
  T parts[kLanes];
  for (T& part : parts) {
    part = -std::numeric_limits<T>::infinity();
  }
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      parts[lane] = row[i + lane] > parts[lane] ? row[i + lane] : parts[lane];
    }
  }
  for (; i < count; ++i) {
    parts[0] = row[i] > parts[0] ? row[i] : parts[0];
  }
  T peak = parts[0];
  for (const T part : parts) {
    peak = part > peak ? part : peak;
  }
  return peak;
}

template <typename T>
[[gnu::always_inline]] inline double exponentiate_row(T* row, T peak, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    row[i] = exponential(row[i] - peak);
  }
  double parts[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      parts[lane] += static_cast<double>(row[i + lane]);
    }
  }
  for (; i < count; ++i) {
    parts[i % kLanes] += static_cast<double>(row[i]);
  }
  double sum = 0;
  for (const double part : parts) {
    sum += part;
  }
  return sum;
}

template <typename T>
[[gnu::always_inline]] inline void scale_row(T* row, T factor, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    row[i] *= factor;
  }
}

// Σ a b
template <typename T>
[[gnu::always_inline]] inline T dot(const T* a, const T* b, size_t count) {
  T parts[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      parts[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (; i < count; ++i) {
    parts[i % kLanes] += a[i] * b[i];
  }
  double sum = 0;
  for (const T part : parts) {
    sum += static_cast<double>(part);
  }
  return static_cast<T>(sum);
}

template <typename T>
[[gnu::always_inline]] inline void center_row(const T* p, T* e, T* bent, size_t count) {
  const T mean = dot(p, e, count);
  for (size_t i = 0; i < count; ++i) {
    e[i] -= mean;
    bent[i] = p[i] * e[i];
  }
}

template <typename T>
[[gnu::always_inline]] inline void move_row(const T* p, const T* e, T* s, T* x, T* bent,
                                            size_t count) {
  const T mean = dot(p, s, count);
  for (size_t i = 0; i < count; ++i) {
    const T u = s[i] - mean;
    x[i] += e[i] * u;
    s[i] = p[i] * u;
    bent[i] = p[i] * e[i];
  }
  const T centre = dot(p, x, count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = p[i] * (x[i] - centre);
  }
}

}  // namespace

QUENCH_MULTIVERSION void hide(const bool* sees, size_t count, float* scores) {
  hide_of(sees, count, scores);
}
QUENCH_MULTIVERSION void hide(const bool* sees, size_t count, double* scores) {
  hide_of(sees, count, scores);
}

QUENCH_MULTIVERSION void cap_slopes(const float* capped, float cap, size_t count, float* slopes) {
  slopes_of(capped, cap, count, slopes);
}
QUENCH_MULTIVERSION void cap_slopes(const double* capped, double cap, size_t count,
                                    double* slopes) {
  slopes_of(capped, cap, count, slopes);
}

QUENCH_MULTIVERSION float largest(const float* row, size_t count) {
  return largest_of(row, count);
}
QUENCH_MULTIVERSION double largest(const double* row, size_t count) {
  return largest_of(row, count);
}

QUENCH_MULTIVERSION double exponentiate(float* row, float peak, size_t count) {
  return exponentiate_row(row, peak, count);
}
double exponentiate(double* row, double peak, size_t count) {
  return exponentiate_row(row, peak, count);
}

QUENCH_MULTIVERSION void scale(float* row, float factor, size_t count) {
  scale_row(row, factor, count);
}
QUENCH_MULTIVERSION void scale(double* row, double factor, size_t count) {
  scale_row(row, factor, count);
}

QUENCH_MULTIVERSION void center(const float* p, float* e, float* bent, size_t count) {
  center_row(p, e, bent, count);
}
QUENCH_MULTIVERSION void center(const double* p, double* e, double* bent, size_t count) {
  center_row(p, e, bent, count);
}

QUENCH_MULTIVERSION void move(const float* p, const float* e, float* s, float* x, float* bent,
                              size_t count) {
  move_row(p, e, s, x, bent, count);
}
QUENCH_MULTIVERSION void move(const double* p, const double* e, double* s, double* x, double* bent,
                              size_t count) {
  move_row(p, e, s, x, bent, count);
}

}  // namespace quench::decoder::kernel
