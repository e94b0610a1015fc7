// Steps of a softmax on plain memory. A sum has sixteen partial sums in a fixed order, so that the
// bits of a row depend only on the row.
#pragma once

#include <cstddef>

namespace quench::decoder::kernel {

// Where `sees` is false, the score becomes -infinity.
void hide(const bool* sees, size_t count, float* scores);
void hide(const bool* sees, size_t count, double* scores);

// slopes = 1 - (capped / cap)²: what a change of a score before its cap does to it.
void cap_slopes(const float* capped, float cap, size_t count, float* slopes);
void cap_slopes(const double* capped, double cap, size_t count, double* slopes);

// The largest of `count` > 0 values.
float largest(const float* row, size_t count);
double largest(const double* row, size_t count);

// row = e^(row - peak); returns the sum.
double exponentiate(float* row, float peak, size_t count);
double exponentiate(double* row, double peak, size_t count);

// row *= factor
void scale(float* row, float factor, size_t count);
void scale(double* row, double factor, size_t count);

// The derivative of a softmax p along e: e -= Σ p e, bent = p e. `bent` may be e.
void center(const float* p, float* e, float* bent, size_t count);
void center(const double* p, double* e, double* bent, size_t count);

// The second derivative (double_backward/attention.cpp): s: S' -> P∘U; x: dy v'ᵀ -> Z; bent = P∘E.
void move(const float* p, const float* e, float* s, float* x, float* bent, size_t count);
void move(const double* p, const double* e, double* s, double* x, double* bent, size_t count);

}  // namespace quench::decoder::kernel
