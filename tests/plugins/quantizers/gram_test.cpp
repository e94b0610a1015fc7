// Before Catch2: headers of libtorch have a CHECK as well.
#include "quench/kit/torch.hpp"

#include <ATen/Parallel.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "quantizers/gram/gram.hpp"
#include "tests/plugins/quantizers/gram_rows.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/host_threads.hpp"

namespace quench::test {

using quantizers::Gram;

TEST_CASE("gram sums the outer products of its rows", "[quantizers][gram]") {
  Gram gram(2, GENERATE(false, true));
  observe(gram, matrix({{1, 2}}));
  observe(gram, matrix({{3, 4}, {-1, 0.5}}));
  CHECK(gram.rows() == 3);
  CHECK(values(gram) == std::vector<double>{11, 13.5, 13.5, 20.25});
}

TEST_CASE("gram takes indexed rows and weighs them", "[quantizers][gram]") {
  const Matrix x = matrix({{1, 0}, {0, 2}, {3, 3}, {5, 1}});
  SECTION("an index") {
    Gram gram(2, false);
    observe(gram, x, {1, 3, 3});
    CHECK(gram.rows() == 3);
    CHECK(values(gram) == std::vector<double>{50, 10, 10, 6});
  }
  SECTION("weights of the rows") {
    Gram gram(2, true);
    observe(gram, x, {}, {4, 1, 0, 2});
    CHECK(gram.rows() == 7);
    CHECK(values(gram)[0] == Approx(4 + 50).epsilon(1e-14));
    CHECK(values(gram)[1] == Approx(10).epsilon(1e-14));
    CHECK(values(gram)[3] == Approx(4 + 2).epsilon(1e-14));
  }
  SECTION("weights of the indexed rows") {
    Gram gram(2, false);
    observe(gram, x, {3, 0}, {0, 9});
    CHECK(gram.rows() == 9);
    CHECK(values(gram) == std::vector<double>{9, 0, 0, 0});
  }
  SECTION("weights of all rows beside an index") {
    Gram gram(2, false);
    observe(gram, x, {1, 2}, {100, 4, 1, 100});
    CHECK(gram.rows() == 5);
    CHECK(values(gram) == std::vector<double>{9, 9, 9, 25});
  }
}

TEST_CASE("gram ignores what is in rows that do not count", "[quantizers][gram]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Gram gram(2, false);
  observe(gram, matrix({{nan, 0}, {1, 2}}), {1});
  observe(gram, matrix({{nan, 0}, {1, 2}}), {}, {0, 1});
  CHECK(values(gram) == std::vector<double>{2, 4, 4, 8});
}

TEST_CASE("gram has the same bits however its rows are split", "[quantizers][gram]") {
  const int64_t n = GENERATE(300, Gram::kFloat64Columns + 1);
  const Matrix x = random_matrix(2500, n, 3, true);
  Gram whole(n, false);
  observe(whole, x);
  Gram split(n, false);
  for (int64_t at = 0, size = 1; at < x.rows; at += size, size = size * 3 + 1) {
    const int64_t rows = std::min(size, x.rows - at);
    const auto from = x.values.begin() + static_cast<std::ptrdiff_t>(at * n);
    observe(split, {rows, n, {from, from + static_cast<std::ptrdiff_t>(rows * n)}});
  }
  CHECK(differences(values(whole), values(split)) == "");
}

TEST_CASE("gram has the same bits for one and two threads", "[quantizers][gram]") {
  const int64_t n = GENERATE(600, Gram::kFloat64Columns + 76);
  const Matrix x = random_matrix(2500, n, 4, true);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  Gram one(n, false);
  observe(one, x);
  const auto expected = values(one);
  at::set_num_threads(2);
  const HostThreads host(2);
  Gram two(n, false);
  observe(two, x);
  CHECK(differences(values(two), expected) == "");
  at::set_num_threads(before);
}

TEST_CASE("gram is symmetric and close to float64", "[quantizers][gram]") {
  const auto [n, rows, error] =
      GENERATE(table<int64_t, int64_t, double>({{7, 1500, 1e-13},
                                                {256, 1500, 1e-13},
                                                {300, 1500, 1e-13},
                                                {Gram::kFloat64Columns, 300, 1e-13},
                                                {Gram::kFloat64Columns + 1, 300, 1e-6}}));
  const Matrix x = random_matrix(rows, n, 5, true);
  Gram gram(n, false);
  observe(gram, x);
  const auto got = values(gram);
  const Matrix exact = product(transposed(x), x);
  double worst = 0;
  bool symmetric = true;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const double norm = std::sqrt(exact(i, i) * exact(j, j));
      worst = std::max(worst, std::fabs(got[static_cast<size_t>(i * n + j)] - exact(i, j)) / norm);
      symmetric =
          symmetric && got[static_cast<size_t>(i * n + j)] == got[static_cast<size_t>(j * n + i)];
    }
  }
  CHECK(symmetric);
  CHECK(worst < error);
}

TEST_CASE("gram refuses what cannot be right", "[quantizers][gram]") {
  Gram gram(2, false);
  CHECK_THROWS_WITH(gram.matrix(), "no calibration rows were observed");
  CHECK_THROWS_WITH(observe(gram, matrix({{1, 2, 3}})), "x: wanted [N, 2], got [1, 3]");
  CHECK_THROWS_WITH(observe(gram, matrix({{1, 2}}), {1}), "row_index: 1, wanted an index below 1");
  CHECK_THROWS_WITH(observe(gram, matrix({{1, 2}}), {}, {-1}),
                    "row_weight: wanted a finite weight >= 0, got -1");
  CHECK_THROWS_WITH(observe(gram, matrix({{1, 2}}), {}, {1, 1}),
                    "row_weight: wanted 1 or 1 weights, got 2");
  CHECK(gram.empty());
  const int64_t wide = Gram::kFloat64Columns + 1;  // the square of 1e30 fits float64
  Gram float32(wide, false);
  observe(float32, {1, wide, std::vector<double>(static_cast<size_t>(wide), 1e30)});
  CHECK_THROWS_WITH(float32.matrix(), "the Gram matrix overflows: the rows are too large");
}

TEST_CASE("gram takes over a matrix", "[quantizers][gram]") {
  kit::OwnedTensor<float> given({2, 2});
  given.values() = {4, 1, 1, 3};
  Gram gram(2, false);
  gram.set(given.view(), 5);
  CHECK(gram.rows() == 5);
  CHECK(values(gram) == std::vector<double>{4, 1, 1, 3});
  CHECK_THROWS_WITH(gram.set(given.view(), 5), "gram: this group has already observed rows");
  Gram other(3, false);
  CHECK_THROWS_WITH(other.set(given.view(), 5), "gram: wanted [3, 3], got [2, 2]");
  CHECK_THROWS_WITH(Gram(2, false).set(given.view(), 0),
                    "gram: wanted a positive number of rows, got 0");
}

}  // namespace quench::test
