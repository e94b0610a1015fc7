#include "metrics/curvature/eigenvalues.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <numeric>

#include "metrics/curvature/graph_bytes.hpp"
#include "metrics/curvature/parts.hpp"
#include "metrics/curvature/rows.hpp"
#include "metrics/curvature/tridiagonal.hpp"
#include "quench/kit/error.hpp"
#include "shared/random/random_vector.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using curvature::Eigenvalues;
using curvature::Operator;

std::vector<curvature::Range> one_range(uint64_t size) {
  return {{0, size}};
}

// Diagonal but for rotations of neighbours, so that its eigenvalues are the given ones.
template <typename T>
Operator<T> rotated(std::vector<double> values) {
  return [values](std::span<const T> v, std::span<T> out) {
    const size_t size = values.size();
    const double c = std::cos(0.7);
    const double s = std::sin(0.7);
    std::vector<double> x(v.begin(), v.end());
    for (size_t i = 0; i + 1 < size; ++i) {
      const double low = c * x[i] - s * x[i + 1];
      x[i + 1] = s * x[i] + c * x[i + 1];
      x[i] = low;
    }
    for (size_t i = 0; i < size; ++i) {
      x[i] *= values[i];
    }
    for (size_t i = size - 1; i-- > 0;) {
      const double low = c * x[i] + s * x[i + 1];
      x[i + 1] = -s * x[i] + c * x[i + 1];
      x[i] = low;
    }
    std::copy(x.begin(), x.end(), out.begin());
  };
}

// A few large eigenvalues over a bulk in [-1, 1], as Hessians have.
std::vector<double> spectrum(size_t size) {
  std::vector<double> values = {50.0, 31.0, 30.5, -40.0, 12.0};
  for (size_t i = values.size(); i < size; ++i) {
    values.push_back(std::sin(static_cast<double>(i)));
  }
  return values;
}

// The same with outliers a tenth as large, so that they take many steps.
std::vector<double> near_bulk(size_t size) {
  std::vector<double> values = spectrum(size);
  for (size_t i = 0; i < 5; ++i) {
    values[i] /= 10;
  }
  return values;
}

}  // namespace

TEST_CASE("tridiagonal_eigen gives the eigenvalues of the second difference",
          "[metrics][hessian]") {
  const size_t size = GENERATE(1, 2, 3, 17);
  const curvature::TridiagonalEigen found = curvature::tridiagonal_eigen(
      std::vector<double>(size, 2.0), std::vector<double>(size - 1, -1.0));
  REQUIRE(found.values.size() == size);
  for (size_t k = 0; k < size; ++k) {
    const double angle =
        std::numbers::pi * static_cast<double>(size - k) / static_cast<double>(size + 1);
    CHECK(found.values[k] == Approx(2.0 - 2.0 * std::cos(angle)).epsilon(1e-14));
    const std::vector<double>& v = found.vectors[k];
    for (size_t i = 0; i < size; ++i) {
      const double image = 2.0 * v[i] - (i > 0 ? v[i - 1] : 0.0) - (i + 1 < size ? v[i + 1] : 0.0);
      CHECK(image == Approx(found.values[k] * v[i]).margin(1e-14));
    }
    CHECK(std::inner_product(v.begin(), v.end(), v.begin(), 0.0) == Approx(1.0).epsilon(1e-14));
  }
}

TEST_CASE("tridiagonal_eigen refuses what is no number", "[metrics][hessian]") {
  CHECK_THROWS_AS(curvature::tridiagonal_eigen({1.0, NAN}, {0.5}), kit::Error);
}

TEST_CASE("lanczos finds the largest eigenvalues, close ones too, and says its residuals",
          "[metrics][hessian]") {
  const std::vector<double> values = spectrum(400);
  const Eigenvalues found = curvature::lanczos<double>(rotated<double>(values), 400, one_range(400),
                                                       4, {1e-9, 300, 300}, "start");
  CHECK(found.converged);
  const std::vector<double> wanted = {50.0, 31.0, 30.5, 12.0};
  REQUIRE(found.values.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(found.values[i] == Approx(wanted[i]).epsilon(1e-12));
    CHECK(found.residuals[i] < 1e-7);
    CHECK(found.residuals[i] > 0);
  }
  CHECK(found.products < 80);
}

TEST_CASE("lanczos in float32 is as good as its products", "[metrics][hessian]") {
  const Eigenvalues found = curvature::lanczos<float>(rotated<float>(spectrum(300)), 300,
                                                      one_range(300), 3, {1e-5, 300, 300}, "start");
  CHECK(found.converged);
  CHECK(found.values[0] == Approx(50.0).epsilon(1e-5));
  CHECK(found.values[2] == Approx(30.5).epsilon(1e-5));
  CHECK(found.residuals[0] < 1e-2);
}

TEST_CASE("lanczos that ends too early says so, and its residuals are those of what it found",
          "[metrics][hessian]") {
  const Eigenvalues found = curvature::lanczos<double>(rotated<double>(spectrum(400)), 400,
                                                       one_range(400), 3, {1e-9, 6, 6}, "start");
  CHECK_FALSE(found.converged);
  CHECK(found.products == 6 + 3);
  CHECK(found.residuals[2] > 1e-3);
}

TEST_CASE("lanczos that keeps few vectors starts again from what it found", "[metrics][hessian]") {
  const auto run = [](size_t vectors) {
    return curvature::lanczos<double>(rotated<double>(near_bulk(2000)), 2000, one_range(2000), 4,
                                      {1e-10, 600, vectors}, "start");
  };
  const Eigenvalues all = run(600);
  REQUIRE(all.converged);
  CHECK(all.restarts == 0);
  for (const size_t vectors : {7, 12, 20}) {
    const Eigenvalues few = run(vectors);
    CHECK(few.converged);
    CHECK(few.restarts > 0);
    CHECK(few.products < 4 * all.products);
    for (size_t i = 0; i < 4; ++i) {
      CHECK(few.values[i] == Approx(all.values[i]).epsilon(1e-12));
      CHECK(few.residuals[i] < 1e-8);
    }
  }
  CHECK_THROWS_AS(run(6), kit::Error);
}

TEST_CASE("lanczos that ends after a restart claims no more than it has", "[metrics][hessian]") {
  for (size_t products = 7; products < 16; ++products) {
    const Eigenvalues found = curvature::lanczos<double>(
        rotated<double>(near_bulk(2000)), 2000, one_range(2000), 4, {1e-10, products, 7}, "start");
    CHECK_FALSE(found.converged);
    CHECK(found.products == products + 4);
  }
}

TEST_CASE("lanczos of a small space ends with all of it", "[metrics][hessian]") {
  const Eigenvalues found = curvature::lanczos<double>(rotated<double>({3.0, -1.0, 2.0}), 3,
                                                       one_range(3), 5, {1e-9, 300, 300}, "start");
  CHECK(found.converged);
  REQUIRE(found.values.size() == 3);
  CHECK(found.values[0] == Approx(3.0).epsilon(1e-12));
  CHECK(found.values[2] == Approx(-1.0).epsilon(1e-12));
}

TEST_CASE("lanczos in a range sees the operator's block there", "[metrics][hessian]") {
  const Operator<double> matrix = [](std::span<const double> v, std::span<double> out) {
    out[0] = 2 * v[0] + v[1] + 9 * v[2];
    out[1] = v[0] + 2 * v[1];
    out[2] = 9 * v[0] + 100 * v[2];
  };
  const Eigenvalues found =
      curvature::lanczos<double>(matrix, 3, one_range(2), 1, {1e-12, 10, 10}, "start");
  CHECK(found.values.at(0) == Approx(3.0).epsilon(1e-13));
  const std::vector<curvature::Range> apart = {{0, 1}, {2, 3}};
  const Eigenvalues other =
      curvature::lanczos<double>(matrix, 3, apart, 1, {1e-12, 10, 10}, "start");
  CHECK(other.values.at(0) == Approx(51 + std::sqrt(49.0 * 49.0 + 81.0)).epsilon(1e-13));
}

TEST_CASE("power_iteration finds what lanczos finds, also beside negative eigenvalues",
          "[metrics][hessian]") {
  const Eigenvalues found = curvature::power_iteration<double>(rotated<double>(spectrum(100)), 100,
                                                               2, 1e-12, 4000, "start");
  CHECK(found.values[0] == Approx(50.0).epsilon(1e-8));
  CHECK(found.values[1] == Approx(31.0).epsilon(1e-8));  // -40 is between them in magnitude
  CHECK(found.converged);
  const auto first = [](std::vector<double> values) {
    const Eigenvalues power =
        curvature::power_iteration<double>(rotated<double>(values), 3, 2, 1e-14, 4000, "start");
    const Eigenvalues wanted = curvature::lanczos<double>(rotated<double>(values), 3, one_range(3),
                                                          2, {1e-12, 100, 100}, "start");
    CHECK(power.values[0] == Approx(wanted.values[0]).epsilon(1e-8));
    CHECK(power.values[1] == Approx(wanted.values[1]).epsilon(1e-8));
    CHECK(power.residuals[1] < 1e-5);
    return power.values[0];
  };
  CHECK(first({-5.0, 1.0, 0.5}) == Approx(1.0));
  CHECK(first({-5.0, -1.0, -0.5}) == Approx(-0.5));
  CHECK(first({-1.0, -3.0, 2.0}) == Approx(2.0));
  const Eigenvalues cut =
      curvature::power_iteration<double>(rotated<double>(spectrum(100)), 100, 1, 1e-12, 3, "start");
  CHECK_FALSE(cut.converged);
  CHECK(cut.products == 6);  // of which three found a negative one
  CHECK(cut.residuals[0] > 0.1);
}

TEST_CASE("quadrature has the moments of the spectrum seen from its start", "[metrics][hessian]") {
  const std::vector<double> values = {4.0, 3.0, 2.0, 1.0, 0.5};
  const curvature::Quadrature found =
      curvature::quadrature<double>(rotated<double>(values), 5, one_range(5), 3, 3, "start");
  REQUIRE(found.nodes.size() == 3);
  std::vector<double> v(5);
  random::draw_normal<double>("start", v);
  const double length = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  for (double& each : v) {
    each /= length;
  }
  std::vector<double> power = v;
  for (int degree = 0; degree < 6; ++degree) {  // exact up to twice the steps less one
    double moment = 0;
    for (size_t i = 0; i < 3; ++i) {
      moment += found.weights[i] * std::pow(found.nodes[i], degree);
    }
    CHECK(moment == Approx(std::inner_product(v.begin(), v.end(), power.begin(), 0.0)));
    std::vector<double> next(5);
    rotated<double>(values)(power, next);
    power = next;
  }
}

TEST_CASE("quadrature that forgets vectors has the same density", "[metrics][hessian]") {
  const auto density = [](size_t vectors) {
    return curvature::quadrature<double>(rotated<double>(spectrum(1000)), 1000, one_range(1000),
                                         120, vectors, "start");
  };
  const curvature::Quadrature all = density(120);
  const curvature::Quadrature few = density(12);
  const auto mass = [](const curvature::Quadrature& of, double low, double high) {
    double sum = 0;
    for (size_t i = 0; i < of.nodes.size(); ++i) {
      sum += low < of.nodes[i] && of.nodes[i] < high ? of.weights[i] : 0.0;
    }
    return sum;
  };
  for (const double outlier : {50.0, 31.0, 30.5, -40.0, 12.0}) {
    const double wanted = mass(all, outlier - 0.1, outlier + 0.1);
    CHECK(wanted > 0);
    CHECK(mass(few, outlier - 0.1, outlier + 0.1) == Approx(wanted).epsilon(1e-6));
  }
  CHECK(mass(few, -1.01, 1.01) == Approx(mass(all, -1.01, 1.01)).epsilon(1e-6));
  CHECK(mass(few, -100, 100) == Approx(1.0).epsilon(1e-12));
}

TEST_CASE("rows_together: batches shrink until a graph fits, to one row", "[metrics][hessian]") {
  // Pythia's shapes: 14M, then 160M.
  const curvature::GraphShapes small{4, 14067712, 6, 128, 50304, 2048};
  const curvature::GraphShapes large{4, 162322944, 12, 768, 50304, 12288};
  CHECK(curvature::rows_together(small, 64) == 32);   // 2048 ids
  CHECK(curvature::rows_together(small, 4096) == 1);  // never none
  CHECK(curvature::rows_together(large, 128) < 16);
  CHECK(curvature::rows_together(large, 2048) == 1);
  const uint64_t rows = curvature::rows_together(large, 128);
  CHECK(curvature::graph_bytes(large, rows, 128) <= curvature::kGraphBytes);
  CHECK(curvature::graph_bytes(large, rows + 1, 128) > curvature::kGraphBytes);
}

TEST_CASE("draw_signs are even, and the same for any length", "[metrics][hessian]") {
  std::vector<double> signs(20001);
  random::draw_signs<double>("s", signs);
  const double sum = std::accumulate(signs.begin(), signs.end(), 0.0);
  CHECK(std::abs(sum) < 5.0 * std::sqrt(20001.0));
  std::vector<float> shorter(17000);
  random::draw_signs<float>("s", shorter);
  CHECK(std::equal(shorter.begin(), shorter.end(), signs.begin()));
}

TEST_CASE("rows_of takes documents as they are, or cuts what is joined", "[metrics][hessian]") {
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<uint64_t> offsets = {0, 3, 4, 7};
  const quench_tokens tokens = {sizeof tokens, "corpus",       "text", 3,
                                ids.data(),    offsets.data(), nullptr};
  CHECK(curvature::rows_of(tokens, 0, 0).size() ==
        2);  // the document of one id has nothing to score
  CHECK(curvature::rows_of(tokens, 0, 1).size() == 1);
  const auto cut = curvature::rows_of(tokens, 2, 0);
  REQUIRE(cut.size() == 3);
  CHECK(cut[2][0] == 5);
  const auto apart = curvature::rows_of(tokens, 2, 0, 2);
  REQUIRE(apart.size() == 2);
  CHECK(apart[1][0] == 5);
  CHECK(curvature::rows_of(tokens, 2, 1, 2).size() == 1);
  CHECK(curvature::rows_of(tokens, 2, 0, 9).size() == 1);  // the first is always one
  CHECK_THROWS_WITH(curvature::rows_of(tokens, 8, 0), Catch::Contains("no sequence of 8 ids"));
  const auto sets = curvature::disjoint_sets(cut, 2);
  REQUIRE(sets.size() == 2);
  CHECK(sets[1].size() == 1);
  CHECK(sets[1][0][0] == 3);
  CHECK_THROWS_WITH(curvature::disjoint_sets(cut, 4), "got 3 sequences for 4 disjoint sets");
}

TEST_CASE("blocks_of joins the parameters of a block", "[metrics][hessian]") {
  const int64_t shape[] = {3};
  std::vector<quench_parameter_info> parameters;
  for (const char* name : {"model.embed.weight", "model.layers.0.a", "model.layers.0.b.weight",
                           "model.layers.1.a", "norm"}) {
    parameters.push_back({sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, name, 1, shape,
                          3 * parameters.size(), 0, nullptr});
  }
  const auto blocks = curvature::blocks_of(parameters);
  REQUIRE(blocks.size() == 4);
  CHECK(blocks[1].name == "model.layers.0");
  REQUIRE(blocks[1].ranges.size() == 1);
  CHECK(blocks[1].ranges[0].first == 3);
  CHECK(blocks[1].ranges[0].end == 9);
  CHECK(blocks[3].name == "norm");
  CHECK(curvature::layers_of(parameters).size() == 5);
}

TEST_CASE("blocks_of joins the parameters of a block in whatever order they come",
          "[metrics][hessian]") {
  const int64_t shape[] = {3};
  std::vector<quench_parameter_info> parameters;
  for (const char* name : {"model.layers.1.a", "model.layers.0.a", "norm", "model.layers.0.b",
                           "model.layers.0.c", "model.layers.1.b"}) {
    parameters.push_back({sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, name, 1, shape,
                          3 * parameters.size(), 0, nullptr});
  }
  const auto blocks = curvature::blocks_of(parameters);
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].name == "model.layers.1");
  CHECK(curvature::size_of(blocks[0].ranges) == 6);
  CHECK(blocks[1].name == "model.layers.0");
  REQUIRE(blocks[1].ranges.size() == 2);
  CHECK(blocks[1].ranges[1].first == 9);
  CHECK(blocks[1].ranges[1].end == 15);
  CHECK(blocks[2].name == "norm");
}

}  // namespace quench::test
