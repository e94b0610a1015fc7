#include "metrics/landscape/plane.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "metrics/shared/symmetric_eigen.hpp"
#include "quench/kit/error.hpp"

namespace {

using quench::metrics::Center;
using quench::metrics::FlatWeights;
using quench::metrics::Piece;

class Given final : public FlatWeights {
 public:
  explicit Given(std::vector<double> values) : values_(std::move(values)) {}
  void read(uint64_t first, uint64_t count, double* out) const override {
    std::copy_n(values_.begin() + static_cast<ptrdiff_t>(first), count, out);
  }

 private:
  std::vector<double> values_;
};

// Sets of weights of 5 parameters, read in pieces of 2.
struct Members {
  explicit Members(const std::vector<std::vector<double>>& rows) {
    for (const auto& row : rows) {
      owned.push_back(std::make_unique<Given>(row));
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<FlatWeights>> owned;
  std::vector<const FlatWeights*> all;
};
const std::vector<Piece> kPieces = {{0, 2}, {2, 2}, {4, 1}};

std::vector<double> at(const quench::metrics::Plane<double>& plane, double x, double y) {
  std::vector<double> out(plane.base.size());
  quench::metrics::weights_at<double>(plane, x, y, out);
  return out;
}

}  // namespace

TEST_CASE("Eigenvalues of a matrix worked by hand come out, largest first", "[landscape]") {
  // [[2,1],[1,2]] has 3 with (1,1)/√2 and 1 with (1,-1)/√2.
  const auto eigen = quench::metrics::symmetric_eigen({2, 1, 1, 2}, 2);
  CHECK(eigen.values[0] == Approx(3).epsilon(1e-15));
  CHECK(eigen.values[1] == Approx(1).epsilon(1e-15));
  CHECK(std::fabs(eigen.vectors[0]) == Approx(std::sqrt(0.5)).epsilon(1e-15));
  CHECK(eigen.vectors[0] * eigen.vectors[1] == Approx(0.5).epsilon(1e-14));
}

TEST_CASE("Eigenvectors rebuild their matrix and are orthonormal", "[landscape]") {
  constexpr size_t kN = 12;
  std::vector<double> matrix(kN * kN);
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      matrix[i * kN + j] = matrix[j * kN + i] = std::sin(static_cast<double>(7 * i + 3 * j * j));
    }
  }
  const auto eigen = quench::metrics::symmetric_eigen(matrix, kN);
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kN; ++j) {
      double rebuilt = 0;
      double inner = 0;
      for (size_t k = 0; k < kN; ++k) {
        rebuilt += eigen.values[k] * eigen.vectors[k * kN + i] * eigen.vectors[k * kN + j];
        inner += eigen.vectors[i * kN + k] * eigen.vectors[j * kN + k];
      }
      CHECK(rebuilt == Approx(matrix[i * kN + j]).margin(1e-13));
      CHECK(inner == Approx(i == j ? 1 : 0).margin(1e-14));
    }
  }
}

TEST_CASE("A principal plane of points in a plane holds every point", "[landscape]") {
  const auto center = GENERATE(Center::kMean, Center::kLast);
  const std::vector<std::vector<double>> rows = {
      {1, 0, 0, 0, 2}, {4, 0, 0, 0, 2}, {1, 0, -1, 0, 2}, {2, 0, -3, 0, 2}};
  const Members members(rows);
  const auto plane = quench::metrics::principal_plane<double>(members.all, kPieces, 5, center);
  REQUIRE(plane.places.size() == rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> there = at(plane, plane.places[i].at[0], plane.places[i].at[1]);
    for (size_t e = 0; e < 5; ++e) {
      CHECK(there[e] == Approx(rows[i][e]).margin(1e-13));
    }
    CHECK(plane.places[i].distance == Approx(0).margin(1e-6));
  }
  CHECK(plane.singular[0] >= plane.singular[1]);
  CHECK(plane.singular[2] == Approx(0).margin(1e-6));
}

TEST_CASE("Checkpoints on a line, or too few, span no principal plane", "[landscape]") {
  const Members line({{0, 0, 0, 0, 0}, {1, 2, 0, 0, 0}, {2, 4, 0, 0, 0}});
  CHECK_THROWS_AS(quench::metrics::principal_plane<double>(line.all, kPieces, 5, Center::kMean),
                  quench::kit::Error);
  const Members two({{0, 0, 0, 0, 0}, {1, 2, 0, 0, 0}});
  CHECK_THROWS_AS(quench::metrics::principal_plane<double>(two.all, kPieces, 5, Center::kMean),
                  quench::kit::Error);
}

TEST_CASE("A plane through corners has them at (0,0), (1,0) and (0,1) in raw coordinates",
          "[landscape]") {
  // e1 = (3,0,4,0,0) of length 5; e2 = (5,0,0,0,2): along u 3, across √(29-9) = √20.
  const Members members({{1, 1, 1, 1, 1}, {4, 1, 5, 1, 1}, {6, 1, 1, 1, 3}, {1, 1, 1, 8, 1}});
  const auto plane = quench::metrics::corner_plane<double>(members.all, 3, kPieces, 5);
  CHECK(plane.places[0].at == std::array<double, 2>{0, 0});
  CHECK(plane.places[1].at[0] == Approx(5).epsilon(1e-15));
  CHECK(plane.places[1].at[1] == Approx(0).margin(1e-14));
  CHECK(plane.places[2].at[0] == Approx(3).epsilon(1e-15));
  CHECK(plane.places[2].at[1] == Approx(std::sqrt(20)).epsilon(1e-15));
  CHECK(plane.places[2].raw[0] == Approx(0).margin(1e-15));
  CHECK(plane.places[2].raw[1] == Approx(1).epsilon(1e-15));
  CHECK(plane.places[3].distance == Approx(7).epsilon(1e-14));  // off the plane along parameter 3
  const std::vector<double> corner = at(plane, plane.places[2].at[0], plane.places[2].at[1]);
  CHECK(corner[0] == Approx(6).epsilon(1e-15));
  CHECK(corner[4] == Approx(3).epsilon(1e-15));
}

TEST_CASE("A line through two sets of weights has them at its ends", "[landscape]") {
  const Members members({{0, 0, 0, 0, 0}, {0, 3, 0, 4, 0}, {1, 0, 0, 0, 0}});
  const auto plane = quench::metrics::corner_plane<double>(members.all, 2, kPieces, 5);
  CHECK(plane.v.empty());
  CHECK(plane.places[1].at[0] == Approx(5).epsilon(1e-15));
  CHECK(plane.places[1].raw[0] == Approx(1).epsilon(1e-15));
  CHECK(plane.places[2].distance == Approx(1).epsilon(1e-15));
  CHECK(at(plane, 2.5, 0)[3] == Approx(2).epsilon(1e-15));
}

TEST_CASE("Corners that are equal or lie on a line are refused", "[landscape]") {
  const Members equal({{1, 0, 0, 0, 0}, {1, 0, 0, 0, 0}});
  CHECK_THROWS_AS(quench::metrics::corner_plane<double>(equal.all, 2, kPieces, 5),
                  quench::kit::Error);
  const Members line({{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {2, 0, 0, 0, 0}});
  CHECK_THROWS_AS(quench::metrics::corner_plane<double>(line.all, 3, kPieces, 5),
                  quench::kit::Error);
}
