// The loops that decompositions spend their time in.
#pragma once

#include <cstddef>

namespace quench::optimizers {

// Σ a_i b_i, in eight partial sums that are added in order.
double dot(const double* a, const double* b, size_t count);
// to_i += factor·from_i
void add_scaled(double* to, const double* from, double factor, size_t count);
// to_i −= f·e_i + g·d_i
void subtract_two(double* to, const double* e, const double* d, double f, double g, size_t count);
// (a_i, b_i) ← (c·a_i − s·b_i, s·a_i + c·b_i)
void rotate(double* a, double* b, double c, double s, size_t count);

}  // namespace quench::optimizers
