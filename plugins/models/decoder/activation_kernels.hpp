// Activations and their derivatives on plain memory, element by element: the bits of an element
// depend on nothing else. A result may overwrite an argument.
#pragma once

#include <cstddef>

namespace quench::decoder::kernel {

// y = x Φ(x), where Φ is the normal distribution function.
void gelu(size_t count, const float* x, float* y);
void gelu(size_t count, const double* x, double* y);
// dx = dy gelu'(x)
void gelu_backward(size_t count, const float* x, const float* dy, float* dx);
void gelu_backward(size_t count, const double* x, const double* dy, double* dx);
// gelu(x), gelu'(x) and gelu''(x)
void gelu_derivatives(size_t count, const float* x, float* y, float* first, float* second);
void gelu_derivatives(size_t count, const double* x, double* y, double* first, double* second);

// GELU with u = sqrt(2/π) (x + 0.044715 x³) in place of Φ: y = x (1 + tanh u) / 2
void gelu_by_tanh(size_t count, const float* x, float* y);
void gelu_by_tanh(size_t count, const double* x, double* y);
void gelu_by_tanh_backward(size_t count, const float* x, const float* dy, float* dx);
void gelu_by_tanh_backward(size_t count, const double* x, const double* dy, double* dx);

// y = cap tanh(x / cap)
void soft_cap(size_t count, float cap, const float* x, float* y);
void soft_cap(size_t count, double cap, const double* x, double* y);
void soft_cap_backward(size_t count, float cap, const float* x, const float* dy, float* dx);
void soft_cap_backward(size_t count, double cap, const double* x, const double* dy, double* dx);

// y = silu(gate) up, with silu(x) = x / (1 + e^-x)
void gate(size_t count, const float* gate, const float* up, float* y);
void gate(size_t count, const double* gate, const double* up, double* y);
// dgate = dy up silu'(gate), dup = dy silu(gate)
void gate_backward(size_t count, const float* gate, const float* up, const float* dy, float* dgate,
                   float* dup);
void gate_backward(size_t count, const double* gate, const double* up, const double* dy,
                   double* dgate, double* dup);
// silu(x), silu'(x) and silu''(x)
void silu_derivatives(size_t count, const float* x, float* y, float* first, float* second);
void silu_derivatives(size_t count, const double* x, double* y, double* first, double* second);

}  // namespace quench::decoder::kernel
