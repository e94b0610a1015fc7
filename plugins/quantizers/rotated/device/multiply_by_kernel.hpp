// Rows times a Hadamard matrix where they are: on a GPU as kernels.so has it, in host memory as
// loops.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "shared/hadamard/random_hadamard.hpp"

namespace quench::quantizers {

// Replaces rows [N, n], float32 or float64, C order, by what RandomHadamard::multiply() makes of
// them, to the bit. False where a value is not finite: the rows are spoilt.
bool multiply_by_kernel(const hadamard::RandomHadamard& rotation, const at::Tensor& rows,
                        hadamard::RandomHadamard::Direction direction);

// The same with the matrix alone: Hadamard::apply(), or undo() where it is `transposed`.
bool multiply_by_kernel(const hadamard::Hadamard& matrix, const at::Tensor& rows, bool transposed,
                        std::span<const double> signs = {});

}  // namespace quench::quantizers
