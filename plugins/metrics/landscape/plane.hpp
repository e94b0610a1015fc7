// A plane or a line through weight space, and the locations of checkpoints in it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/landscape/flat_weights.hpp"

namespace quench::metrics {

// The location of one set of weights.
struct Location {
  std::array<double, 2> at{};   // orthonormal coordinates, in the units of the weights
  std::array<double, 2> raw{};  // in units of the spanning vectors (`corners`), else equal to `at`
  double distance = 0;          // from the plane or line
};

// base + x·u + y·v with orthonormal u and v. On a line, v is empty and y is 0. T is the type of the
// weights; coordinates are float64.
template <typename T>
struct Plane {
  std::vector<T> base;
  std::vector<T> u;
  std::vector<T> v;                             // empty for a line
  std::vector<Location> places;                 // of the members, in their order
  std::vector<double> singular;                 // pca: singular values of the centered members
  std::array<double, 4> raw_to_at{1, 0, 0, 1};  // row-major: at = M · raw
};

// The point from which the members are measured.
enum class Center { kMean, kLast };

// The plane of the first two principal components of the members (at least three), from the
// eigenvectors of their Gram matrix: X = UΣVᵀ gives XXᵀ = UΣ²Uᵀ, so the directions are rows of
// Σ⁻¹UᵀX. The entry of largest magnitude in each direction is positive. Reads every member twice:
// for the Gram matrix and for the directions. Throws FAILED_PRECONDITION if the members span no
// plane.
template <typename T>
Plane<T> principal_plane(const std::vector<const FlatWeights*>& members,
                         const std::vector<Piece>& pieces, uint64_t parameters, Center center);

// The plane through members[0] (the origin), [1] and [2], or the line through [0] and [1] if
// `corners` is 2. Raw coordinates are in units of members[1] - members[0] and members[2] -
// members[0]. All other members are projected. Throws FAILED_PRECONDITION if the corners do not
// span it.
template <typename T>
Plane<T> corner_plane(const std::vector<const FlatWeights*>& members, size_t corners,
                      const std::vector<Piece>& pieces, uint64_t parameters);

// out = base + x·u + y·v, summed in float64 and rounded once per element.
template <typename T>
void weights_at(const Plane<T>& plane, double x, double y, std::span<T> out);

}  // namespace quench::metrics
