// What GPTQ derives from a group's Gram matrix, once for all linears of the group: the order of the
// columns and the factor that its column loop needs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "quantizers/gptq/order.hpp"

namespace quench::quantizers {

struct FactorOptions {
  ColumnOrder order;
  double damp;              // first try, relative to the mean of the diagonal
  double damp_increment;    // added for each further try, while damp < 1; 0: one try
  int64_t group_size = -1;  // for kGroupAware
  // Whether a retry adds its damp to what the tries before it have added, relative to the mean of
  // the diagonal as they left it (as published tools of 2025 have it), instead of starting anew.
  bool cumulative = false;
  // When damping is exhausted: up to six floors under the diagonal, 1e-6, 1e-5, ... of its largest
  // element, each with all the damping over again.
  bool raise_floor = false;

  bool operator==(const FactorOptions&) const = default;
};

struct Factor {
  std::vector<int32_t> perm;   // [in], perm[k] = column that is quantized k-th
  std::vector<uint8_t> dead;   // [in], original order: columns that no row used
  at::Tensor upper;            // U [in, in] float64, in the order of perm; H^-1 = U'U
  std::vector<double> pivots;  // [in], the diagonal of U
  at::Tensor correction;       // P of asymmetry.hpp [in, in] float64, in the order of perm, or none
  double damp = 0;             // the one that succeeded
  double floor = 0;            // under the diagonal, relative to its largest element
  int64_t retries = 0;
  int64_t dead_count = 0;
  double mean_diagonal = 0;     // of H, before damping
  double largest_diagonal = 0;  // likewise
  // Squared ratio of the largest to the smallest pivot: a lower bound of the condition of the
  // damped H.
  double condition() const;
};

// H = 2/rows * gram; H_ii = 1 where it was 0; then damp * mean(diagonal) on the diagonal. With J
// the reversal of rows and columns: J H J = L L', so H = V V' with V = J L J upper, and U = V^-1 =
// J L^-1 J. So one factorization and one triangular inverse, 2/3 n^3, instead of factor, inverse
// and factor again. Nothing when no damp below 1 makes H positive definite; `tried` then holds the
// last damp and the retries.
std::optional<Factor> try_factorize(const at::Tensor& gram, double rows,
                                    const FactorOptions& options, Factor& tried);

// As above, NUMERICAL where there is none.
Factor factorize(const at::Tensor& gram, double rows, const FactorOptions& options);

// U = 1, columns as they stand: rounding to nearest.
Factor no_compensation(int64_t columns);

}  // namespace quench::quantizers
