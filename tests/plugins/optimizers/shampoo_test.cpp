// Shampoo against its algorithm in float64 by numpy, and the inverse roots that it multiplies by.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimizers/shampoo/inverse_root.hpp"
#include "tests/plugins/optimizers/stepped_matrix.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, size_t n) {
  std::vector<double> out(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < n; ++j) {
        out[i * n + j] += a[i * n + k] * b[k * n + j];
      }
    }
  }
  return out;
}

// G·Gᵀ of numbers [n, rank].
std::vector<double> square(size_t n, size_t rank) {
  const std::vector<float> g = numbers(5, n * rank);
  std::vector<double> out(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t k = 0; k < rank; ++k) {
        out[i * n + j] += static_cast<double>(g[i * rank + k]) * g[j * rank + k];
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("shampoo follows twelve steps of its algorithm in float64 by numpy",
          "[optimizers][shampoo]") {
  const auto all =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/shampoo_reference.json"));
  REQUIRE(all.size() == 5);
  for (const auto& [name, wanted] : all.items()) {
    DYNAMIC_SECTION(name) {
      SteppedMatrix stepped("shampoo",
                            {{"betas", {0.9, 0.95}},
                             {"precondition_frequency", wanted.at("precondition_frequency")},
                             {"factor_epsilon", wanted.at("factor_epsilon")},
                             {"max_precond_dim", wanted.at("max_precond_dim")}},
                            wanted.at("rows"), wanted.at("columns"));
      const std::vector<float> before = stepped.weight();
      for (uint64_t step = 1; step <= 12; ++step) {
        stepped.step(step);
      }
      const auto weight = wanted.at("weight").get<std::vector<double>>();
      const double moved =
          largest_difference(before, {stepped.weight().begin(), stepped.weight().end()});
      const double largest = largest_difference(stepped.weight(), weight);
      CAPTURE(largest, moved);
      CHECK(moved > 0.005);
      CHECK(largest < 2e-6);
    }
  }
}

TEST_CASE("shampoo is adamw before its first inverse roots, and not after them",
          "[optimizers][shampoo]") {
  SteppedMatrix shampoo("shampoo", {{"precondition_frequency", 4}}, 6, 10);
  SteppedMatrix adamw("adamw", {}, 6, 10);
  for (uint64_t step = 1; step <= 3; ++step) {
    shampoo.step(step);
    adamw.step(step);
    CHECK(shampoo.weight() == adamw.weight());
  }
  shampoo.step(4);
  adamw.step(4);
  CHECK(shampoo.weight() != adamw.weight());
}

TEST_CASE("shampoo is adamw on a matrix whose sides are both too long", "[optimizers][shampoo]") {
  SteppedMatrix shampoo("shampoo", {{"max_precond_dim", 5}, {"precondition_frequency", 1}}, 6, 10);
  SteppedMatrix adamw("adamw", {}, 6, 10);
  CHECK(shampoo.state().size() == 2);
  for (uint64_t step = 1; step <= 5; ++step) {
    shampoo.step(step);
    adamw.step(step);
  }
  CHECK(shampoo.weight() == adamw.weight());
}

TEST_CASE("a step of shampoo has the length of adam's", "[optimizers][shampoo]") {
  const nlohmann::json plain = {{"weight_decay", 0.0}};
  SteppedMatrix adamw("adamw", plain, 7, 9);
  SteppedMatrix shampoo("shampoo", {{"weight_decay", 0.0}, {"precondition_frequency", 1}}, 7, 9);
  for (uint64_t step = 1; step <= 6; ++step) {
    double lengths[2] = {0, 0};
    const std::vector<float> before[2] = {shampoo.weight(), adamw.weight()};
    shampoo.step(step);
    adamw.step(step);
    const std::vector<float>* const after[2] = {&shampoo.weight(), &adamw.weight()};
    for (size_t k = 0; k < 2; ++k) {
      for (size_t i = 0; i < before[k].size(); ++i) {
        lengths[k] += std::pow(static_cast<double>((*after[k])[i]) - before[k][i], 2);
      }
    }
    CAPTURE(step);
    CHECK(std::sqrt(lengths[0] / lengths[1]) == Approx(1).epsilon(1e-4));
  }
}

TEST_CASE("shampoo continues from its state with the same bits, between inverse roots too",
          "[optimizers][shampoo]") {
  const nlohmann::json parameters = {{"precondition_frequency", 3}};
  SteppedMatrix whole("shampoo", parameters, 9, 14);
  SteppedMatrix resumed("shampoo", parameters, 9, 14);
  for (uint64_t step = 1; step <= 4; ++step) {
    whole.step(step);
  }
  resumed.continue_from(whole);
  for (uint64_t step = 5; step <= 9; ++step) {
    whole.step(step);
    resumed.step(step);
    CHECK(resumed.weight() == whole.weight());
  }
}

TEST_CASE("shampoo gives the same bits on one and on two threads", "[optimizers][shampoo]") {
  std::vector<std::vector<float>> results;
  for (const uint32_t threads : {1u, 2u}) {
    set_task_threads(threads);
    SteppedMatrix stepped("shampoo", {{"precondition_frequency", 2}}, 130, 257);
    for (uint64_t step = 1; step <= 4; ++step) {
      stepped.step(step);
    }
    results.push_back(stepped.weight());
  }
  set_task_threads(1);
  CHECK(results[0] == results[1]);
}

TEST_CASE("an inverse root to its power times the matrix is the identity",
          "[optimizers][shampoo]") {
  for (const size_t n : {1u, 7u, 40u}) {
    for (const size_t rank : {2 * n, (n + 1) / 2}) {
      for (const double root : {2.0, 4.0}) {
        CAPTURE(n, rank, root);
        constexpr double kEpsilon = 0.01;
        constexpr double kScale = 0.25;
        const std::vector<double> p = square(n, rank);
        std::vector<float> found(n * n);
        optimizers::inverse_root(p, static_cast<int64_t>(n), kScale, kEpsilon, root, found);
        std::vector<double> power(found.begin(), found.end());
        for (int doubled = 1; doubled < static_cast<int>(root); doubled *= 2) {
          power = product(power, power, n);
        }
        std::vector<double> shifted(p);
        for (size_t i = 0; i < n * n; ++i) {
          shifted[i] = kScale * p[i] + (i % (n + 1) == 0 ? kEpsilon : 0);
        }
        const std::vector<double> identity = product(power, shifted, n);
        for (size_t i = 0; i < n * n; ++i) {
          REQUIRE(std::abs(identity[i] - (i % (n + 1) == 0 ? 1 : 0)) < 1e-3);
        }
      }
    }
  }
}

TEST_CASE("an inverse root reads the upper triangle alone", "[optimizers][shampoo]") {
  std::vector<double> p = square(5, 9);
  std::vector<float> wanted(25);
  std::vector<float> got(25);
  optimizers::inverse_root(p, 5, 1, 1e-6, 4, wanted);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < i; ++j) {
      p[i * 5 + j] = 77;
    }
  }
  optimizers::inverse_root(p, 5, 1, 1e-6, 4, got);
  CHECK(got == wanted);
}

TEST_CASE("an inverse root of a matrix without one is refused", "[optimizers][shampoo]") {
  std::vector<float> out(16);
  CHECK_THROWS_WITH(optimizers::inverse_root(std::vector<double>(16), 4, 1, 0, 4, out),
                    "shampoo: a factor has an eigenvalue of 0 and so no inverse root; wanted "
                    "factor_epsilon above 0");
  std::vector<double> p = square(4, 8);
  p[1] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(optimizers::inverse_root(p, 4, 1, 1e-12, 4, out),
                    "a gradient's second moments are not finite");
}

}  // namespace quench::test
