// A plane or a line through weight space, and where checkpoints lie in it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/landscape/flat_weights.hpp"

namespace quench::metrics {

// Where one set of weights lies.
struct Location {
  std::array<double, 2> at{};   // orthonormal coordinates, in the units of the weights
  std::array<double, 2> raw{};  // in units of the spanning vectors (those of `corners`, else `at`)
  double distance = 0;          // from the plane
};

// base + x·u + y·v with orthonormal u, v; of a line v is nothing and y is 0. T is what the weights
// are stored in; coordinates are float64.
template <typename T>
struct Plane {
  std::vector<T> base;
  std::vector<T> u;
  std::vector<T> v;                             // empty for a line
  std::vector<Location> places;                 // of the members, in their order
  std::vector<double> singular;                 // of pca: singular values of the centred members
  std::array<double, 4> raw_to_at{1, 0, 0, 1};  // row-major: at = M · raw
};

// What the members are measured from.
enum class Center { kMean, kLast };

// The first two principal components of the members (at least three), from the eigenvectors of
// their Gram matrix: X = UΣVᵀ has XXᵀ = UΣ²Uᵀ, so the directions are rows of Σ⁻¹UᵀX. The entry of
// largest magnitude of each direction is positive. Every member is read twice: for the Gram matrix
// and for the directions. FAILED_PRECONDITION when the members span no plane.
template <typename T>
Plane<T> principal_plane(const std::vector<const FlatWeights*>& members,
                         const std::vector<Piece>& pieces, uint64_t parameters, Center center);

// The plane through members[0] (its origin), [1] and [2]; or the line through [0] and [1] when
// `corners` is 2. Raw coordinates count in members[1] - members[0] and members[2] - members[0]. All
// further members are projected. FAILED_PRECONDITION when the corners do not span it.
template <typename T>
Plane<T> corner_plane(const std::vector<const FlatWeights*>& members, size_t corners,
                      const std::vector<Piece>& pieces, uint64_t parameters);

// out = base + x·u + y·v, each element summed in float64 and rounded once.
template <typename T>
void weights_at(const Plane<T>& plane, double x, double y, std::vector<T>& out);

}  // namespace quench::metrics
