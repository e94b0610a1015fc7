// What GPTQ derives from a group's Gram matrix, once for all its linears: the column order and the
// factor for the column loop.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "quantizers/gptq/decomposition.hpp"
#include "quantizers/gptq/order.hpp"

namespace quench::quantizers {

struct FactorOptions {
  ColumnOrder order;
  double damp;              // the first try, relative to the mean of the diagonal
  double damp_increment;    // added for each further try while damp < 1; 0: only one try
  int64_t group_size = -1;  // for kGroupAware
  // Whether a retry damps the already damped Hessian again, relative to the mean of its diagonal at
  // that point, instead of starting from H. Published tools of 2025 do this.
  bool cumulative = false;
  // Once all damping has failed: adds 1e-6, 1e-5, ... of its largest element to the diagonal, up to
  // six times, and repeats all the damping with each of these floors.
  bool raise_floor = false;

  bool operator==(const FactorOptions&) const = default;
};

struct Factor {
  std::vector<int32_t> perm;  // [in]; perm[k] is the column that is quantized k-th
  std::vector<uint8_t> dead;  // [in], original order: columns that are 0 in every row
  at::Tensor
      upper;  // U [in, in] float64, in the order of perm, where the Gram matrix was; H^-1 = U'U
  std::vector<double> pivots;  // [in], the diagonal of U
  at::Tensor correction;       // P of asymmetry.hpp [in, in] float64, in the order of perm, or none
  double damp = 0;             // the damp that succeeded
  double floor = 0;            // added to the diagonal, relative to its largest element
  int64_t retries = 0;
  int64_t dead_count = 0;
  double mean_diagonal = 0;     // of H, before damping
  double largest_diagonal = 0;  // of H, before damping
  // The squared ratio of the largest to the smallest pivot, a lower bound of the condition number
  // of the damped H.
  double condition() const;
};

// H = 2/rows * gram, with H_ii = 1 where it was 0, plus damp * mean(diagonal) on the diagonal. Let
// J reverse rows and columns: J H J = L L', so H = V V' with V = J L J upper triangular, and U =
// V^-1 = J L^-1 J. This takes one factorization and one triangular inverse, 2/3 n^3 operations,
// instead of factor, inverse and factor. Returns nothing if no damp below 1 makes H positive
// definite; `tried` then holds the last damp and the number of retries.
//
// `make` says how: by default in the memory where the Gram matrix is.
using MakeDecomposition = std::unique_ptr<Decomposition> (*)(const at::Tensor& gram, double scale);
std::optional<Factor> try_factorize(const at::Tensor& gram, double rows,
                                    const FactorOptions& options, Factor& tried,
                                    MakeDecomposition make = decompose_where_it_is);

// The same, but throws NUMERICAL if there is no factor.
Factor factorize(const at::Tensor& gram, double rows, const FactorOptions& options,
                 MakeDecomposition make = decompose_where_it_is);

// U = 1 with the columns in original order, that is, rounding to nearest.
Factor no_compensation(int64_t columns);

}  // namespace quench::quantizers
