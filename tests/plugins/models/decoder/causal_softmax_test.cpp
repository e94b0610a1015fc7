#include "models/decoder/causal_softmax.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "models/decoder/softmax_kernels.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// `count` rows of numbers, the first with `first` + 1 of them; what is behind a row is NaN.
template <typename T>
struct Scores {
  Scores(int64_t first_query, int64_t rows, uint32_t seed)
      : first(first_query),
        count(rows),
        stride(first_query + rows + decoder::kBehind),
        values(static_cast<size_t>(rows * stride), std::numeric_limits<T>::quiet_NaN()) {
    std::mt19937 random(seed);
    std::normal_distribution<T> normal(0, 9);
    for (int64_t i = 0; i < count; ++i) {
      std::generate_n(row(i), seen(i), [&] { return normal(random); });
    }
  }
  T* row(int64_t i) { return values.data() + i * stride; }
  size_t seen(int64_t i) const { return static_cast<size_t>(first + i + 1); }
  decoder::ScoreRows<T> rows() { return {values.data(), stride, count, first}; }
  bool ends_with_zeros() {
    for (int64_t i = 0; i < count; ++i) {
      const T* end = row(i) + seen(i);
      if (std::any_of(end, end + decoder::kBehind, [](T x) { return x != 0; })) {
        return false;
      }
    }
    return true;
  }

  int64_t first;
  int64_t count;
  int64_t stride;
  std::vector<T> values;
};

template <typename T>
bool same_bits(const T* a, const T* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(T)) == 0;
}

}  // namespace

// The steps of softmax_kernels.hpp, row by row, are the witness.
TEMPLATE_TEST_CASE("causal softmax: rows of any length have the bits of its steps",
                   "[models][decoder]", float, double) {
  using T = TestType;
  const auto isa = static_cast<matrix::Isa>(GENERATE(from_range(available_instructions())));
  const int64_t first = GENERATE(0, 1, 14, 15, 16, 100, 1007);
  const int64_t count = GENERATE(1, 7, 8, 9, 28);
  CAPTURE(first, count);
  Scores<T> scores(first, count, 1);
  if (first == 100) {  // hidden keys, and one that is far below the largest
    std::fill_n(scores.row(0), 40, static_cast<T>(-kInfinity));
    scores.row(0)[41] = -120;  // e^x is 0
    scores.row(0)[42] = -75;   // a subnormal number
  }
  Scores<T> p = scores;
  std::vector<T> kept(static_cast<size_t>(2 * count));
  decoder::causal_softmax<T>(isa, p.rows(), kept.data());
  Scores<T> again = scores;
  Scores<T> bent(first, count, 2);
  Scores<T> errors = bent;
  decoder::causal_softmax_backward<T>(isa, again.rows(), bent.values.data(), kept.data());
  for (int64_t i = 0; i < count; ++i) {
    T* row = scores.row(i);
    const size_t seen = scores.seen(i);
    const T peak = decoder::kernel::largest(row, seen);
    const T inverse = static_cast<T>(1.0 / decoder::kernel::exponentiate(row, peak, seen));
    decoder::kernel::scale(row, inverse, seen);
    CHECK(same_bits(row, p.row(i), seen));
    CHECK(same_bits(row, again.row(i), seen));
    CHECK((kept[static_cast<size_t>(2 * i)] == peak &&
           kept[static_cast<size_t>(2 * i + 1)] == inverse));
    decoder::kernel::center(row, errors.row(i), errors.row(i), seen);
    CHECK(same_bits(errors.row(i), bent.row(i), seen));
  }
  CHECK(p.ends_with_zeros());
  CHECK(again.ends_with_zeros());
  CHECK(bent.ends_with_zeros());
}

TEST_CASE("causal softmax: a softmax of floats is that of float64 to a few units",
          "[models][decoder]") {
  const auto isa = static_cast<matrix::Isa>(GENERATE(from_range(available_instructions())));
  Scores<float> scores(200, 28, 3);
  const Scores<float> exact = scores;
  std::vector<float> kept(56);
  decoder::causal_softmax<float>(isa, scores.rows(), kept.data());
  double worst = 0;
  for (int64_t i = 0; i < 28; ++i) {
    const float* row = exact.values.data() + i * exact.stride;
    const size_t seen = exact.seen(i);
    const double peak = *std::max_element(row, row + seen);
    double sum = 0;
    for (size_t j = 0; j < seen; ++j) {
      sum += std::exp(static_cast<double>(row[j]) - peak);
    }
    for (size_t j = 0; j < seen; ++j) {
      const double wanted = std::exp(static_cast<double>(row[j]) - peak) / sum;
      worst = std::max(worst, std::abs(scores.row(i)[j] - wanted) / wanted);
    }
  }
  CHECK(worst < 1e-5);  // the difference score - peak, below 100, is rounded to float32
}

TEST_CASE("causal softmax: a row with NaN or infinity is NaN, and its neighbours are not",
          "[models][decoder]") {
  const auto isa = static_cast<matrix::Isa>(GENERATE(from_range(available_instructions())));
  const float bad = GENERATE(std::nanf(""), kInfinity);
  const size_t place = GENERATE(size_t{0}, size_t{17}, size_t{40});
  Scores<float> scores(40, 9, 4);
  scores.row(3)[place] = bad;
  std::vector<float> kept(18);
  decoder::causal_softmax<float>(isa, scores.rows(), kept.data());
  for (int64_t i = 0; i < 9; ++i) {
    CHECK(std::isnan(scores.row(i)[place]) == (i == 3));
    CHECK(std::isnan(kept[static_cast<size_t>(2 * i + 1)]) == (i == 3));
  }
  CHECK(scores.ends_with_zeros());
}

}  // namespace quench::test
