// Scales the columns of a matrix.
#pragma once

#include <span>

namespace quench {

// `matrix` is [rows, scale.size()] in C order. Computes each product or quotient in float64 and
// rounds once.
void multiply_columns(std::span<float> matrix, std::span<const double> scale);
void multiply_columns(std::span<double> matrix, std::span<const double> scale);
void divide_columns(std::span<float> matrix, std::span<const double> scale);
void divide_columns(std::span<double> matrix, std::span<const double> scale);

}  // namespace quench
