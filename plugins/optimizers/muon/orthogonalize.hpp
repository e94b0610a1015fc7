// An approximation of the nearest orthogonal matrix.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quench::optimizers {

// Overwrites the float32 matrix [rows, columns], where it is, with U·S'·Vᵀ, where U·S·Vᵀ is its
// singular value decomposition and S' is near 1, by `iterations` of the quintic Newton-Schulz
// iteration
//   X ← aX + (bA + cA²)X,  A = XXᵀ,  (a, b, c) = (3.4445, −4.7750, 2.0315)
// from X/‖X‖ (Jordan et al. 2024). A zero matrix stays zero. Products are float32. Nothing waits
// for a GPU.
void orthogonalize(const at::Tensor& matrix, int64_t iterations);

}  // namespace quench::optimizers
