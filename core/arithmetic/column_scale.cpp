#include "core/arithmetic/column_scale.hpp"

#include <cstddef>
#include <functional>

namespace quench {

namespace {

template <typename T, typename Operation>
void each_column(std::span<T> matrix, std::span<const double> scale, Operation operation) {
  for (size_t i = 0; i < matrix.size(); ++i) {
    matrix[i] = static_cast<T>(operation(static_cast<double>(matrix[i]), scale[i % scale.size()]));
  }
}

}  // namespace

void multiply_columns(std::span<float> matrix, std::span<const double> scale) {
  each_column(matrix, scale, std::multiplies<>());
}

void multiply_columns(std::span<double> matrix, std::span<const double> scale) {
  each_column(matrix, scale, std::multiplies<>());
}

void divide_columns(std::span<float> matrix, std::span<const double> scale) {
  each_column(matrix, scale, std::divides<>());
}

void divide_columns(std::span<double> matrix, std::span<const double> scale) {
  each_column(matrix, scale, std::divides<>());
}

}  // namespace quench
