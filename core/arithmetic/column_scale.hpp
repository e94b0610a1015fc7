// A factor for each column of a matrix.
#pragma once

#include <span>

namespace quench {

// `matrix` is [rows, scale.size()] in C order. Each product or quotient is taken in float64 and
// rounded once.
void multiply_columns(std::span<float> matrix, std::span<const double> scale);
void multiply_columns(std::span<double> matrix, std::span<const double> scale);
void divide_columns(std::span<float> matrix, std::span<const double> scale);
void divide_columns(std::span<double> matrix, std::span<const double> scale);

}  // namespace quench
