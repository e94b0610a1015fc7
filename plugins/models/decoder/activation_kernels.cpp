#include "models/decoder/activation_kernels.hpp"

#include <numbers>

#include "models/decoder/transcendental.hpp"
#include "quench/kit/multiversion.hpp"

namespace quench::decoder::kernel {

namespace {

// φ and Φ, the density and the distribution function of the normal distribution.
template <typename T>
[[gnu::always_inline]] inline T density(T x) {
  return exponential(x * x * T(-0.5)) * T(0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2);
}
template <typename T>
[[gnu::always_inline]] inline T integral(T x) {
  return (error_function(x * T(std::numbers::sqrt2 / 2)) + T(1)) * T(0.5);
}

template <typename T>
[[gnu::always_inline]] inline T sigmoid(T x) {
  return T(1) / (T(1) + exponential(-x));
}
template <typename T>
[[gnu::always_inline]] inline T silu_slope(T x, T s) {
  return (x * (T(1) - s) + T(1)) * s;
}

template <typename T>
[[gnu::always_inline]] inline void gelu_loop(size_t count, const T* x, T* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = x[i] * integral(x[i]);
  }
}

// Φ + x φ
template <typename T>
[[gnu::always_inline]] inline void gelu_backward_loop(size_t count, const T* x, const T* dy,
                                                      T* dx) {
  for (size_t i = 0; i < count; ++i) {
    dx[i] = dy[i] * (integral(x[i]) + x[i] * density(x[i]));
  }
}

// φ (2 - x²)
template <typename T>
[[gnu::always_inline]] inline void gelu_derivatives_loop(size_t count, const T* x, T* y, T* first,
                                                         T* second) {
  for (size_t i = 0; i < count; ++i) {
    const T at = x[i];
    const T below = integral(at);
    const T here = density(at);
    y[i] = at * below;
    first[i] = below + at * here;
    second[i] = here * (T(2) - at * at);
  }
}

template <typename T>
[[gnu::always_inline]] inline void gate_loop(size_t count, const T* gate, const T* up, T* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = gate[i] / (T(1) + exponential(-gate[i])) * up[i];
  }
}

template <typename T>
[[gnu::always_inline]] inline void gate_backward_loop(size_t count, const T* gate, const T* up,
                                                      const T* dy, T* dgate, T* dup) {
  for (size_t i = 0; i < count; ++i) {
    const T s = sigmoid(gate[i]);
    dgate[i] = dy[i] * up[i] * silu_slope(gate[i], s);
    dup[i] = dy[i] * (gate[i] * s);
  }
}

// s (1 - s) (2 + x (1 - 2 s))
template <typename T>
[[gnu::always_inline]] inline void silu_derivatives_loop(size_t count, const T* x, T* y, T* first,
                                                         T* second) {
  for (size_t i = 0; i < count; ++i) {
    const T at = x[i];
    const T s = sigmoid(at);
    y[i] = at * s;
    first[i] = silu_slope(at, s);
    second[i] = ((T(1) - s - s) * at + T(2)) * s * (T(1) - s);
  }
}

// tanh(u) with u = sqrt(2/π) (x + 0.044715 x³), and du/dx
template <typename T>
[[gnu::always_inline]] inline T bent(T x) {
  return hyperbolic_tangent(T(std::numbers::inv_sqrtpi * std::numbers::sqrt2) *
                            (x + T(0.044715) * x * x * x));
}
template <typename T>
[[gnu::always_inline]] inline T bend(T x) {
  return T(std::numbers::inv_sqrtpi * std::numbers::sqrt2) * (T(1) + T(3 * 0.044715) * x * x);
}

template <typename T>
[[gnu::always_inline]] inline void gelu_by_tanh_loop(size_t count, const T* x, T* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = x[i] * T(0.5) * (T(1) + bent(x[i]));
  }
}

template <typename T>
[[gnu::always_inline]] inline void gelu_by_tanh_backward_loop(size_t count, const T* x, const T* dy,
                                                              T* dx) {
  for (size_t i = 0; i < count; ++i) {
    const T t = bent(x[i]);
    dx[i] = dy[i] * T(0.5) * (T(1) + t + x[i] * (T(1) - t * t) * bend(x[i]));
  }
}

template <typename T>
[[gnu::always_inline]] inline void soft_cap_loop(size_t count, T cap, const T* x, T* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = cap * hyperbolic_tangent(x[i] / cap);
  }
}

template <typename T>
[[gnu::always_inline]] inline void soft_cap_backward_loop(size_t count, T cap, const T* x,
                                                          const T* dy, T* dx) {
  for (size_t i = 0; i < count; ++i) {
    const T t = hyperbolic_tangent(x[i] / cap);
    dx[i] = dy[i] * (T(1) - t * t);
  }
}

}  // namespace

QUENCH_MULTIVERSION void gelu_by_tanh(size_t count, const float* x, float* y) {
  gelu_by_tanh_loop(count, x, y);
}
void gelu_by_tanh(size_t count, const double* x, double* y) {
  gelu_by_tanh_loop(count, x, y);
}

QUENCH_MULTIVERSION void gelu_by_tanh_backward(size_t count, const float* x, const float* dy,
                                               float* dx) {
  gelu_by_tanh_backward_loop(count, x, dy, dx);
}
void gelu_by_tanh_backward(size_t count, const double* x, const double* dy, double* dx) {
  gelu_by_tanh_backward_loop(count, x, dy, dx);
}

QUENCH_MULTIVERSION void soft_cap(size_t count, float cap, const float* x, float* y) {
  soft_cap_loop(count, cap, x, y);
}
void soft_cap(size_t count, double cap, const double* x, double* y) {
  soft_cap_loop(count, cap, x, y);
}

QUENCH_MULTIVERSION void soft_cap_backward(size_t count, float cap, const float* x, const float* dy,
                                           float* dx) {
  soft_cap_backward_loop(count, cap, x, dy, dx);
}
void soft_cap_backward(size_t count, double cap, const double* x, const double* dy, double* dx) {
  soft_cap_backward_loop(count, cap, x, dy, dx);
}

QUENCH_MULTIVERSION void gelu(size_t count, const float* x, float* y) {
  gelu_loop(count, x, y);
}
void gelu(size_t count, const double* x, double* y) {
  gelu_loop(count, x, y);
}

QUENCH_MULTIVERSION void gelu_backward(size_t count, const float* x, const float* dy, float* dx) {
  gelu_backward_loop(count, x, dy, dx);
}
void gelu_backward(size_t count, const double* x, const double* dy, double* dx) {
  gelu_backward_loop(count, x, dy, dx);
}

QUENCH_MULTIVERSION void gelu_derivatives(size_t count, const float* x, float* y, float* first,
                                          float* second) {
  gelu_derivatives_loop(count, x, y, first, second);
}
void gelu_derivatives(size_t count, const double* x, double* y, double* first, double* second) {
  gelu_derivatives_loop(count, x, y, first, second);
}

QUENCH_MULTIVERSION void gate(size_t count, const float* gate, const float* up, float* y) {
  gate_loop(count, gate, up, y);
}
void gate(size_t count, const double* gate, const double* up, double* y) {
  gate_loop(count, gate, up, y);
}

QUENCH_MULTIVERSION void gate_backward(size_t count, const float* gate, const float* up,
                                       const float* dy, float* dgate, float* dup) {
  gate_backward_loop(count, gate, up, dy, dgate, dup);
}
void gate_backward(size_t count, const double* gate, const double* up, const double* dy,
                   double* dgate, double* dup) {
  gate_backward_loop(count, gate, up, dy, dgate, dup);
}

QUENCH_MULTIVERSION void silu_derivatives(size_t count, const float* x, float* y, float* first,
                                          float* second) {
  silu_derivatives_loop(count, x, y, first, second);
}
void silu_derivatives(size_t count, const double* x, double* y, double* first, double* second) {
  silu_derivatives_loop(count, x, y, first, second);
}

}  // namespace quench::decoder::kernel
