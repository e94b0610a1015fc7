// SOAP against its algorithm in float64 by numpy, and the decompositions that its bases come from.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "optimizers/shared/decompositions.hpp"
#include "quench/kit/error.hpp"
#include "tests/plugins/optimizers/stepped_matrix.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using optimizers::Columns;
using optimizers::eigenvectors;
using optimizers::orthogonal_factor;

// The largest |QᵀQ − 1| of columns.
double skew(const Columns& q, size_t n) {
  double largest = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = i == j ? -1 : 0;
      for (size_t k = 0; k < n; ++k) {
        sum += q[i * n + k] * q[j * n + k];
      }
      largest = std::max(largest, std::abs(sum));
    }
  }
  return largest;
}

// Aᵀ·B of two matrices in columns, by rows.
std::vector<double> transposed_product(const Columns& a, const Columns& b, size_t n) {
  std::vector<double> out(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < n; ++k) {
        out[i * n + j] += a[i * n + k] * b[j * n + k];
      }
    }
  }
  return out;
}

// Normal numbers of rank `rank`: the first columns, and sums of two of them.
Columns random_matrix(size_t n, size_t rank) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  Columns out(n * n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < n; ++i) {
      out[j * n + i] =
          j < rank ? normal(random) : out[(j % rank) * n + i] + out[((j + 1) % rank) * n + i];
    }
  }
  return out;
}

// From a row-major matrix.
Columns columns_of(const std::vector<double>& rows, size_t n) {
  Columns out(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      out[j * n + i] = rows[i * n + j];
    }
  }
  return out;
}

}  // namespace

TEST_CASE("soap follows twenty steps of its algorithm in float64 by numpy", "[optimizers][soap]") {
  const auto all =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/soap_reference.json"));
  for (const auto& [name, wanted] : all.items()) {
    DYNAMIC_SECTION(name) {
      SteppedMatrix stepped("soap",
                            {{"betas", {0.9, 0.95}},
                             {"precondition_frequency", 5},
                             {"max_precond_dim", wanted.at("max_precond_dim")}},
                            wanted.at("rows"), wanted.at("columns"));
      const std::vector<float> before = stepped.weight();
      stepped.step(1);
      CHECK(stepped.weight() == before);
      for (uint64_t step = 2; step <= 20; ++step) {
        stepped.step(step);
      }
      const auto weight = wanted.at("weight").get<std::vector<double>>();
      double largest = 0;
      double moved = 0;
      for (size_t i = 0; i < weight.size(); ++i) {
        largest = std::max(largest, std::abs(weight[i] - stepped.weight()[i]));
        moved = std::max(moved, std::abs(weight[i] - before[i]));
      }
      CAPTURE(largest, moved);
      CHECK(moved > 0.005);
      CHECK(largest < 2e-6);
    }
  }
}

TEST_CASE("soap keeps orthonormal bases that make its factors nearly diagonal",
          "[optimizers][soap]") {
  SteppedMatrix stepped("soap", {{"precondition_frequency", 3}}, 6, 10);
  stepped.step(1);
  for (uint64_t step = 1; step <= 31; ++step) {
    if (step > 1) {
      stepped.step(step);
    }
    if ((step - 1) % 3 != 0) {
      continue;
    }
    CAPTURE(step);
    const SteppedMatrix::State state = stepped.state();
    REQUIRE(state.size() == 6);
    for (const auto& [side, n] : {std::pair<std::string, size_t>{"left", 6}, {"right", 10}}) {
      const Columns q = columns_of(state.at(side + "_basis/w"), n);
      const Columns p = columns_of(state.at(side + "_factor/w"), n);
      CHECK(skew(q, n) < 1e-6);
      if (step == 1) {
        // Its eigenvectors, largest first; of the right one, four have an eigenvalue of 0.
        Columns pq(n * n);
        const std::vector<double> product = transposed_product(p, q, n);  // P is symmetric
        for (size_t i = 0; i < n; ++i) {
          for (size_t j = 0; j < n; ++j) {
            pq[j * n + i] = product[i * n + j];
          }
        }
        const std::vector<double> turned = transposed_product(q, pq, n);
        for (size_t i = 0; i < n; ++i) {
          for (size_t j = 0; j < n; ++j) {
            CHECK((i == j || std::abs(turned[i * n + j]) < 1e-7));
          }
          CHECK((i == 0 || turned[i * n + i] <= turned[(i - 1) * n + i - 1] + 1e-9));
        }
      }
    }
  }
}

TEST_CASE("soap is adamw on a matrix whose sides are both too long", "[optimizers][soap]") {
  SteppedMatrix stepped("soap", {{"max_precond_dim", 5}}, 6, 10);
  CHECK(stepped.state().size() == 2);
  const std::vector<float> before = stepped.weight();
  stepped.step(1);
  CHECK(stepped.weight() != before);
}

TEST_CASE("soap gives the same bits on one and on two threads", "[optimizers][soap]") {
  std::vector<std::vector<float>> results;
  for (const uint32_t threads : {1u, 2u}) {
    set_task_threads(threads);
    SteppedMatrix stepped("soap", {{"precondition_frequency", 2}}, 130, 257);
    for (uint64_t step = 1; step <= 4; ++step) {
      stepped.step(step);
    }
    results.push_back(stepped.weight());
  }
  set_task_threads(1);
  CHECK(results[0] == results[1]);
}

TEST_CASE("an orthogonal factor is orthonormal at any rank, and leaves a triangle",
          "[optimizers][soap]") {
  for (const size_t n : {1u, 2u, 9u, 33u, 120u}) {
    for (const size_t rank : {n, (n + 2) / 3}) {
      CAPTURE(n, rank);
      const Columns matrix = random_matrix(n, rank);
      const Columns q = orthogonal_factor(matrix, n);
      CHECK(skew(q, n) < 1e-13);
      const std::vector<double> r = transposed_product(q, matrix, n);
      double below = 0;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < i; ++j) {
          below = std::max(below, std::abs(r[i * n + j]));
        }
      }
      CHECK(below < 1e-12 * static_cast<double>(n));
    }
  }
  CHECK(skew(orthogonal_factor(Columns(16, 0.0), 4), 4) == 0);
}

TEST_CASE("eigenvectors make a symmetric matrix diagonal, largest first",
          "[optimizers][soap][shampoo]") {
  for (const size_t n : {1u, 2u, 9u, 33u, 120u}) {
    for (const size_t rank : {n, (n + 2) / 3}) {
      CAPTURE(n, rank);
      const Columns part = random_matrix(n, rank);
      const std::vector<double> symmetric = transposed_product(part, part, n);  // PᵀP
      const auto [values, q] = optimizers::eigen_decomposition(symmetric, n);
      CHECK(skew(q, n) < 1e-12);
      const std::vector<double> half = transposed_product(q, symmetric, n);  // QᵀS
      Columns columns(n * n);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          columns[i * n + j] = half[i * n + j];  // (QᵀS)ᵀ, in columns
        }
      }
      const std::vector<double> diagonal = transposed_product(columns, q, n);
      const double size = diagonal[0];
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          if (i != j) {
            REQUIRE(std::abs(diagonal[i * n + j]) < 1e-12 * size);
          }
        }
        REQUIRE((i == 0 || diagonal[i * n + i] <= diagonal[(i - 1) * n + i - 1] + 1e-12 * size));
        REQUIRE(std::abs(values[i] - diagonal[i * n + i]) < 1e-12 * size);
      }
    }
  }
}

TEST_CASE("eigenvectors of what is not finite are refused", "[optimizers][soap]") {
  Columns matrix(4, 1.0);
  matrix[2] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(eigenvectors(matrix, 2), "a gradient's second moments are not finite");
}

}  // namespace quench::test
