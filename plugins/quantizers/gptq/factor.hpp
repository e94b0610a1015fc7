// What GPTQ derives from a group's Gram matrix, once for all linears of the group: the order of the
// columns and the factor that its column loop needs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace quench::quantizers {

struct FactorOptions {
  bool desc_act;          // columns by descending diagonal of H, ties in column order
  double damp;            // first try, relative to the mean of the diagonal
  double damp_increment;  // added for each further try, while damp < 1; 0: one try
};

struct Factor {
  std::vector<int32_t> perm;   // [in], perm[k] = column that is quantized k-th
  std::vector<uint8_t> dead;   // [in], original order: columns that no row used
  at::Tensor upper;            // U [in, in] float64, in the order of perm; H^-1 = U'U
  std::vector<double> pivots;  // [in], the diagonal of U
  double damp = 0;             // the one that succeeded
  int64_t retries = 0;
  int64_t dead_count = 0;
};

// H = 2/rows * gram; H_ii = 1 where it was 0; then damp * mean(diagonal) on the diagonal. With J
// the reversal of rows and columns: J H J = L L', so H = V V' with V = J L J upper, and U = V^-1 =
// J L^-1 J. So one factorization and one triangular inverse, 2/3 n^3, instead of factor, inverse
// and factor again. NUMERICAL when no damp below 1 makes H positive definite.
Factor factorize(const at::Tensor& gram, double rows, const FactorOptions& options);

}  // namespace quench::quantizers
