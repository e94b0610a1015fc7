// GPTQ in plain float64 loops, the oracle of the tests. It is slow on purpose: every update is
// applied at once to every later column, and the factor takes the textbook's three steps.
#pragma once

#include <cstdint>
#include <vector>

#include "quantizers/gptq/solver.hpp"

namespace quench::quantizers::reference {

// A C-ordered matrix.
struct Matrix {
  int64_t rows;
  int64_t columns;
  std::vector<double> values;
  double& operator()(int64_t r, int64_t c) { return values[static_cast<size_t>(r * columns + c)]; }
  double operator()(int64_t r, int64_t c) const {
    return values[static_cast<size_t>(r * columns + c)];
  }
};

struct Solution {
  Matrix codes;        // [out, in], original column order
  Matrix scales;       // [out, groups]
  Matrix zeros;        // [out, groups]
  Matrix dequantized;  // [out, in]
  std::vector<int32_t> g_idx;
  std::vector<int32_t> perm;
  double loss;
};

// The upper triangular U with H^-1 = U'U, for a positive definite H.
Matrix upper_factor_of_inverse(const Matrix& h);

// What the column loop is given.
struct Factored {
  std::vector<int32_t> perm;  // perm[k] is the column that is quantized k-th
  std::vector<uint8_t> dead;  // in original order
  Matrix u;                   // in the order of perm
  Matrix p;                   // likewise; zeros without GPTAQ
};

// `h` is the undamped Hessian 2/N X'X. For GPTAQ with `alpha`, `moved` is 2/N (X~ - X)'X.
Factored factor(const Matrix& h, const SolverOptions& options, ColumnOrder order, double damp,
                const Matrix* moved = nullptr, double alpha = 0);

// The column loop alone.
Solution quantize_columns(const Matrix& weight, const Factored& factored,
                          const SolverOptions& options);

// Both.
Solution gptq(const Matrix& weight, const Matrix& h, const SolverOptions& options,
              ColumnOrder order, double damp, const Matrix* moved = nullptr, double alpha = 0);

}  // namespace quench::quantizers::reference
