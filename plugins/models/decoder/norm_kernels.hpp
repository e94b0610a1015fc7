// The pieces of a norm on plain memory, row by row. Sums are in float64 and in a fixed order, so
// the bits of a row depend on the row alone.
#pragma once

#include <cstddef>

namespace quench::decoder::kernel {

// x^ = (x - mean(x)) r with r = 1 / sqrt(mean((x - mean(x))^2) + eps), without the mean where rows
// are not centered; returns r. `normal` may be x.
double normalize(const float* x, bool centered, double eps, size_t columns, float* normal);
double normalize(const double* x, bool centered, double eps, size_t columns, double* normal);

// out = P(w) = r (w - mean(w) - x^ mean(w x^)), the derivative of x^ along w, and its own
// transpose; without the mean of w where rows are not centered. `out` may be w.
void project(const float* w, const float* normal, double inverse, bool centered, size_t columns,
             float* out);
void project(const double* w, const double* normal, double inverse, bool centered, size_t columns,
             double* out);

// dx = P(dy weight), and dy x^ is added to `sums`; `weight` may be null: ones.
void normalize_backward(const float* dy, const float* normal, double inverse, bool centered,
                        const float* weight, size_t columns, float* sums, float* dx);
void normalize_backward(const double* dy, const double* normal, double inverse, bool centered,
                        const double* weight, size_t columns, double* sums, double* dx);

// row = row * weight + bias; either may be null.
void weigh(const float* weight, const float* bias, size_t columns, float* row);
void weigh(const double* weight, const double* bias, size_t columns, double* row);

}  // namespace quench::decoder::kernel
