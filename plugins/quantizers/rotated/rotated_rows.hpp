// Matrices whose rows are multiplied by a random Hadamard matrix or its inverse.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/abi/tensor.h"
#include "shared/hadamard/random_hadamard.hpp"

namespace quench::quantizers {

using hadamard::RandomHadamard;

// A copy where they are, C order, of rows [N, n] of any float type: float64 if they are, else
// float32. Throws with `what`, the matrix's name, INVALID_ARGUMENT for another shape and NUMERICAL
// for a value that is not finite, by row and column.
at::Tensor rotated(const RandomHadamard& rotation, const quench_tensor& rows, const char* what,
                   RandomHadamard::Direction direction = RandomHadamard::Direction::kApply);

// R G R' of a symmetric G [n, n], or R' G R with kApply; float64, where G is.
at::Tensor rotated_gram(const RandomHadamard& rotation, const quench_tensor& gram,
                        RandomHadamard::Direction direction);

}  // namespace quench::quantizers
