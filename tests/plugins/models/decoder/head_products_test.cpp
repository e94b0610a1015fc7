#include "models/decoder/head_products.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/test_host.hpp"

using quench::decoder::CausalBlock;
using quench::decoder::columns;
using quench::decoder::multiply;
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

}  // namespace

// Whole products are the witness: made of the same matrices with zeros above the diagonal.
TEMPLATE_TEST_CASE("causal block: its products have the bits of whole products",
                   "[models][decoder]", float, double) {
  using T = TestType;
  const UseInstructions form(GENERATE(from_range(available_instructions())));
  const int64_t first = GENERATE(0, 112, 336);
  const int64_t count = GENERATE(1, 14, 30, 61, 112);
  const int64_t width = GENERATE(8, 24, 64);
  CAPTURE(first, count, width);
  const CausalBlock block = {first, count, width};
  const int64_t seen = block.seen();
  const Matrix<T> queries(count, width, 1);
  const Matrix<T> keys(seen, width, 2);

  for (const bool adds : {false, true}) {
    Matrix<T> scores(count, seen, 3);
    Matrix<T> wanted(count, seen, 3);
    block.template scores<T>(queries.view(), keys.view(), scores.all(), 0.3, adds);
    multiply<T>(rows(queries.view()), rows(keys.view()), {count, seen, width}, wanted.all(), 0.3,
                adds);
    CHECK(scores.above_diagonal(first, 0).has_bits_of(wanted.above_diagonal(first, 0)));

    Matrix<T> weighed(count, width, 4);
    Matrix<T> weighed_whole(count, width, 4);
    block.template weigh<T>(scores.all(), keys.view(), weighed.all(), 0.7, adds);
    multiply<T>(rows<T>(scores.all()), columns(keys.view()), {count, width, seen},
                weighed_whole.all(), 0.7, adds);
    CHECK(weighed.has_bits_of(weighed_whole));
  }
  Matrix<T> weights(count, seen, 5);
  weights.above_diagonal(first, 0);
  Matrix<T> back(seen, width, 6);
  Matrix<T> back_whole(seen, width, 6);
  block.template add_backwards<T>(weights.all(), queries.view(), back.all(), 1.1);
  multiply<T>(columns<T>(weights.all()), columns(queries.view()), {seen, width, count},
              back_whole.all(), 1.1, true);
  CHECK(back.has_bits_of(back_whole));
}

TEST_CASE("causal block: what lies above the diagonal of scores may be anything",
          "[models][decoder]") {
  const CausalBlock block = {112, 56, 24};
  const Matrix<float> queries(56, 24, 1);
  Matrix<float> keys(168, 24, 2);
  Matrix<float> scores(56, 168, 3);
  block.scores<float>(queries.view(), keys.view(), scores.all(), 1, false);
  Matrix<float> again(56, 168, 3);
  again.above_diagonal(112, std::nanf(""));
  block.scores<float>(queries.view(), keys.view(), again.all(), 1, false);
  CHECK(again.above_diagonal(112, 0).has_bits_of(scores.above_diagonal(112, 0)));
}
