#include "models/decoder/head_products.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/test_host.hpp"

using quench::decoder::CausalBlock;
using quench::decoder::columns;
using quench::decoder::packed_columns;
using quench::decoder::packed_columns_size;
using quench::decoder::packed_rows;
using quench::decoder::packed_rows_size;
using quench::decoder::Panels;
using quench::decoder::rows;
using quench::decoder::Rows;
using quench::test::available_instructions;
using quench::test::UseInstructions;

namespace {

template <typename T>
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns, uint32_t seed) : rows_(rows), columns_(columns) {
    std::mt19937 random(seed);
    std::normal_distribution<T> normal;
    for (int64_t i = 0; i < rows * columns; ++i) {
      values_.push_back(normal(random));
    }
  }
  // Elements that no query of the block sees become `value`.
  Matrix& above_diagonal(int64_t first, T value) {
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = first + i + 1; j < columns_; ++j) {
        values_[static_cast<size_t>(i * columns_ + j)] = value;
      }
    }
    return *this;
  }
  void clear_from(int64_t row) { std::fill(values_.begin() + row * columns_, values_.end(), T{0}); }
  Rows<T> all() { return {values_.data(), columns_}; }
  Rows<const T> view() const { return {values_.data(), columns_}; }
  bool has_bits_of(const Matrix& other) const {
    return std::memcmp(values_.data(), other.values_.data(), values_.size() * sizeof(T)) == 0;
  }

 private:
  int64_t rows_;
  int64_t columns_;
  std::vector<T> values_;
};

// A matrix [count, width] packed by rows or by columns.
template <typename T>
class Packed {
 public:
  Packed(Rows<const T> x, int64_t count, int64_t width)
      : by_row_(static_cast<size_t>(packed_rows_size<T>(count, width))),
        by_column_(static_cast<size_t>(packed_columns_size<T>(count, width))),
        by_row(packed_rows<T>(x, count, width, by_row_.data())),
        by_column(packed_columns<T>(x, count, width, by_column_.data())) {}

 private:
  std::vector<T> by_row_;
  std::vector<T> by_column_;

 public:
  Panels<T> by_row;
  Panels<T> by_column;
};

// to [m, n] (+)= factor * a [m, k] b [k, n]; a is indexed by (i, k), b by (j, k).
template <typename T>
void multiply(quench::matrix::Operand<T> a, quench::matrix::Operand<T> b,
              quench::matrix::Sizes sizes, Rows<T> to, double factor, bool add) {
  quench::matrix::Result<T, T> result;
  result.to = to.data;
  result.stride = to.stride;
  result.factor = factor;
  result.add = add;
  quench::matrix::multiply<T, T>(a, b, sizes, result);
}

}  // namespace

// Whole products are the witness: made of the same matrices with zeros above the diagonal.
TEMPLATE_TEST_CASE("causal block: its products have the bits of whole products",
                   "[models][decoder]", float, double) {
  using T = TestType;
  const UseInstructions form(GENERATE(from_range(available_instructions())));
  const int64_t first = GENERATE(0, 112, 336);
  const int64_t count = GENERATE(1, 14, 30, 61, 112);
  const int64_t width = GENERATE(8, 24, 64, 272);  // the last is deeper than sums in registers
  CAPTURE(first, count, width);
  const CausalBlock block = {first, count, width};
  const int64_t seen = block.seen();
  const Matrix<T> queries(count, width, 1);
  const Matrix<T> keys(seen, width, 2);
  const Packed<T> own(queries.view(), count, width);
  const Packed<T> read(keys.view(), seen, width);

  for (const bool adds : {false, true}) {
    Matrix<T> scores(count, seen, 3);
    Matrix<T> wanted(count, seen, 3);
    block.template scores<T>(queries.view(), read.by_row, scores.all(), 0.3, adds);
    multiply<T>(rows(queries.view()), rows(keys.view()), {count, seen, width}, wanted.all(), 0.3,
                adds);
    CHECK(scores.above_diagonal(first, 0).has_bits_of(wanted.above_diagonal(first, 0)));

    Matrix<T> weighed(count, width, 4);
    Matrix<T> weighed_whole(count, width, 4);
    block.template weigh<T>(scores.all(), read.by_column, weighed.all(), 0.7, adds);
    multiply<T>(rows<T>(scores.all()), columns(keys.view()), {count, width, seen},
                weighed_whole.all(), 0.7, adds);
    CHECK(weighed.has_bits_of(weighed_whole));
  }
  Matrix<T> weights(count, seen, 5);
  weights.above_diagonal(first, 0);
  for (const bool adds : {false, true}) {
    Matrix<T> back(seen, width, 6);
    Matrix<T> back_whole(seen, width, 6);
    if (!adds) {  // the block's own keys are new
      back_whole.clear_from(first);
    }
    block.template add_backwards<T>(weights.all(), own.by_column, back.all(), 1.1, adds);
    multiply<T>(columns<T>(weights.all()), columns(queries.view()), {seen, width, count},
                back_whole.all(), 1.1, true);
    CHECK(back.has_bits_of(back_whole));
  }
}

TEST_CASE("causal block: what lies above the diagonal of scores may be anything",
          "[models][decoder]") {
  const CausalBlock block = {112, 56, 24};
  const Matrix<float> queries(56, 24, 1);
  const Matrix<float> keys(168, 24, 2);
  const Packed<float> read(keys.view(), 168, 24);
  Matrix<float> scores(56, 168, 3);
  block.scores<float>(queries.view(), read.by_row, scores.all(), 1, false);
  Matrix<float> again(56, 168, 3);
  again.above_diagonal(112, std::nanf(""));
  block.scores<float>(queries.view(), read.by_row, again.all(), 1, false);
  CHECK(again.above_diagonal(112, 0).has_bits_of(scores.above_diagonal(112, 0)));
}
