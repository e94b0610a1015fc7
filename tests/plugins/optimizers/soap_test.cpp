// SOAP against its algorithm in float64 by numpy, and the decompositions that its bases come from.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "optimizers/soap/decompositions.hpp"
#include "quench/abi/kind/optimizer.h"
#include "quench/kit/error.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/plugins/optimizers/optimizer_library.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using optimizers::Columns;
using optimizers::eigenvectors;
using optimizers::orthogonal_factor;
using State = std::map<std::string, std::vector<float>>;

// Numbers in [-1, 1), the same for a seed; soap_reference.py has them, too.
std::vector<float> numbers(uint64_t seed, size_t count) {
  std::vector<float> out(count);
  uint64_t state = seed * 2 + 1;
  for (float& value : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return out;
}

// The optimizer of one hidden matrix.
class Stepped {
 public:
  Stepped(const nlohmann::json& parameters, int64_t rows, int64_t columns)
      : table_(table_of<quench_optimizer_table>(item())),
        shape_{rows, columns},
        weight_({rows, columns}) {
    weight_.values() = numbers(1, weight_.values().size());
    const std::string json = complete_parameters(item(), parameters);
    REQUIRE(table_.create(json.data(), json.size(), &optimizer_, &error_) == QUENCH_OK);
    const quench_parameter_info info = {sizeof info, QUENCH_ROLE_MATRIX, "w", 2, shape_, 0, 0,
                                        nullptr};
    REQUIRE(table_.begin(optimizer_, &info, 1, {QUENCH_DEVICE_CPU, 0}, &error_) == QUENCH_OK);
  }
  ~Stepped() { table_.destroy(optimizer_); }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  void step(uint64_t number) {
    kit::OwnedTensor<float> given({shape_[0], shape_[1]});
    given.values() = numbers(100 + number, given.values().size());
    const quench_tensor weight = weight_.view();
    const quench_tensor view = given.view();
    const double lr = 0.01 / static_cast<double>(number);
    const quench_step_args args = {sizeof args, 0,       0,     number,  lr, 0.01,
                                   1,           &weight, &view, nullptr, 0.5};
    const quench_status status = table_.step(optimizer_, &args, &error_);
    INFO(error_.message);
    REQUIRE(status == QUENCH_OK);
  }
  const std::vector<float>& weight() const { return weight_.values(); }
  State state() {
    State out;
    for (uint64_t index = 0;; ++index) {
      quench_state_info info{sizeof info, nullptr, {}, 0, nullptr};
      if (table_.state_info(optimizer_, index, &info, &error_) == QUENCH_END) {
        return out;
      }
      kit::OwnedTensor<float> to({info.shape, info.shape + info.dimensions});
      const quench_tensor view = to.view();
      REQUIRE(table_.state_get(optimizer_, index, &view, &error_) == QUENCH_OK);
      out[info.name] = to.values();
    }
  }

 private:
  static const quench_item& item() { return plugin_item(library_of("soap"), "optimizer"); }
  const quench_optimizer_table& table_;
  int64_t shape_[2];
  kit::OwnedTensor<float> weight_;
  quench_optimizer* optimizer_ = nullptr;
  quench_error error_{sizeof error_, 0, {}};
};

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

// From a row-major float32 matrix.
Columns columns_of(const std::vector<float>& rows, size_t n) {
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
      Stepped stepped({{"betas", {0.9, 0.95}},
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
  Stepped stepped({{"precondition_frequency", 3}}, 6, 10);
  stepped.step(1);
  for (uint64_t step = 1; step <= 31; ++step) {
    if (step > 1) {
      stepped.step(step);
    }
    if ((step - 1) % 3 != 0) {
      continue;
    }
    CAPTURE(step);
    const State state = stepped.state();
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
  Stepped stepped({{"max_precond_dim", 5}}, 6, 10);
  CHECK(stepped.state().size() == 2);
  const std::vector<float> before = stepped.weight();
  stepped.step(1);
  CHECK(stepped.weight() != before);
}

TEST_CASE("soap gives the same bits on one and on two threads", "[optimizers][soap]") {
  std::vector<std::vector<float>> results;
  for (const uint32_t threads : {1u, 2u}) {
    set_task_threads(threads);
    Stepped stepped({{"precondition_frequency", 2}}, 130, 257);
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

TEST_CASE("eigenvectors make a symmetric matrix diagonal, largest first", "[optimizers][soap]") {
  for (const size_t n : {1u, 2u, 9u, 33u, 120u}) {
    for (const size_t rank : {n, (n + 2) / 3}) {
      CAPTURE(n, rank);
      const Columns part = random_matrix(n, rank);
      const std::vector<double> symmetric = transposed_product(part, part, n);  // PᵀP
      const Columns q = eigenvectors(symmetric, n);
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
