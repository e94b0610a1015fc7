// Small matrices of tests, in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quench::test {

// A C-ordered matrix in float64, whatever it is handed over as.
struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;
  double& operator()(int64_t r, int64_t c) { return values[static_cast<size_t>(r * columns + c)]; }
  double operator()(int64_t r, int64_t c) const {
    return values[static_cast<size_t>(r * columns + c)];
  }
};

Matrix matrix(std::vector<std::vector<double>> rows);
Matrix transposed(const Matrix& m);
Matrix product(const Matrix& a, const Matrix& b);
// Values of a normal distribution, rounded to float32; the columns are correlated and of unequal
// size when `correlated`, as inputs of a layer are.
Matrix random_matrix(int64_t rows, int64_t columns, uint64_t seed, bool correlated = false);
// tr(D H D')
double weighted_square(const Matrix& d, const Matrix& h);

}  // namespace quench::test
