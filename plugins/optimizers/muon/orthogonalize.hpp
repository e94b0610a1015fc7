// An approximation of the nearest orthogonal matrix.
#pragma once

#include <cstdint>
#include <span>

namespace quench::optimizers {

// Overwrites the [rows, columns] matrix with U·S'·Vᵀ, where U·S·Vᵀ is its singular value
// decomposition and S' is near 1, by `iterations` of the quintic Newton-Schulz iteration
//   X ← aX + (bA + cA²)X,  A = XXᵀ,  (a, b, c) = (3.4445, −4.7750, 2.0315)
// from X/‖X‖ (Jordan et al. 2024). A zero matrix stays zero. Products are float32.
void orthogonalize(std::span<float> matrix, int64_t rows, int64_t columns, int64_t iterations);

}  // namespace quench::optimizers
