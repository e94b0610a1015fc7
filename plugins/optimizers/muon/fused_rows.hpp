// Matrices of equal shape that lie in one, fused along its rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace quench::optimizers {

// Row r belongs to matrix (r / together) mod parts.
struct FusedRows {
  int64_t parts = 1;
  int64_t together = 0;  // neighbouring rows of one matrix
};

// `together` 0: all rows of a matrix. Throws INVALID_ARGUMENT, with the name, where `rows` do not
// hold so many matrices in whole turns.
FusedRows fused_rows(const std::string& name, int64_t rows, int64_t parts, int64_t together);

// `orthogonalize` (orthogonalize.hpp) of each of the matrices by itself, where it is.
void orthogonalize_parts(const at::Tensor& matrix, const FusedRows& fused, int64_t iterations);

}  // namespace quench::optimizers
