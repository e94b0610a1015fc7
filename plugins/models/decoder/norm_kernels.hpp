// Steps of a norm on plain memory, row by row. Sums are in float64 and in a fixed order, so that
// the bits of a row depend only on the row.
#pragma once

#include <cstddef>

namespace quench::decoder::kernel {

// x^ = (x - mean(x)) r with r = 1 / sqrt(mean((x - mean(x))^2) + eps). Leaves the mean out if rows
// are not centered. Returns r. `normal` may be x.
double normalize(const float* x, bool centered, double eps, size_t columns, float* normal);
double normalize(const double* x, bool centered, double eps, size_t columns, double* normal);

// out = P(w) = r (w - mean(w) - x^ mean(w x^)): the derivative of x^ along w; P is symmetric.
// Leaves the mean of w out if rows are not centered. `out` may be w.
void project(const float* w, const float* normal, double inverse, bool centered, size_t columns,
             float* out);
void project(const double* w, const double* normal, double inverse, bool centered, size_t columns,
             double* out);

// dx = P(dy weight); adds dy x^ to `sums`. A null `weight` means ones.
void normalize_backward(const float* dy, const float* normal, double inverse, bool centered,
                        const float* weight, size_t columns, float* sums, float* dx);
void normalize_backward(const double* dy, const double* normal, double inverse, bool centered,
                        const double* weight, size_t columns, double* sums, double* dx);

// row = row * weight + bias; either may be null.
void weigh(const float* weight, const float* bias, size_t columns, float* row);
void weigh(const double* weight, const double* bias, size_t columns, double* row);

}  // namespace quench::decoder::kernel
