// Hadamard matrices in exact integers, and fast products against the plain ones.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "quench/kit/error.hpp"
#include "shared/hadamard/finite_field.hpp"
#include "shared/hadamard/random_hadamard.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using hadamard::FiniteField;
using hadamard::Hadamard;
using hadamard::RandomHadamard;

// The largest |H H' - n I|.
int64_t defect(const Hadamard& h) {
  const int64_t n = h.size();
  std::vector<int> entries;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      entries.push_back(h.entry(i, j));
      REQUIRE(std::abs(entries.back()) == 1);
    }
  }
  int64_t most = 0;
  for (int64_t a = 0; a < n; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      int64_t sum = a == b ? -n : 0;
      for (int64_t i = 0; i < n; ++i) {
        sum += entries[static_cast<size_t>(a * n + i)] * entries[static_cast<size_t>(b * n + i)];
      }
      most = std::max(most, std::abs(sum));
    }
  }
  return most;
}

// Values without any pattern that a transform would know.
std::vector<double> values_of(int64_t count) {
  std::vector<double> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto place = static_cast<double>(i);
    out[i] = std::sin(place * place) + 0.1 * std::cos(3 * place);
  }
  return out;
}

std::string error_of(int64_t size) {
  try {
    Hadamard h(size);
  } catch (const kit::Error& error) {
    CHECK(error.code() == QUENCH_UNSUPPORTED);
    return error.what();
  }
  return "";
}

}  // namespace

// (q - 1) / 2 elements other than 0 are squares, -1 is one exactly if q = 1 mod 4, and each
// difference but 0 is that of two squares equally often (Paley 1933).
TEST_CASE("a finite field has the squares that it must have", "[shared][hadamard]") {
  for (const int64_t q : {3, 5, 7, 9, 11, 13, 25, 27, 49, 81, 125, 343}) {
    CAPTURE(q);
    const FiniteField field(q);
    int64_t squares = 0;
    for (int64_t a = 0; a < q; ++a) {
      squares += field.character(a) == 1 ? 1 : 0;
      CHECK((field.character(a) == 0) == (a == 0));
      CHECK(field.difference(a, a) == 0);
      CHECK(field.difference(a, 0) == a);
      const int turned = field.character(field.difference(0, a));
      CHECK(turned == (q % 4 == 1 ? 1 : -1) * field.character(a));
    }
    CHECK(squares == (q - 1) / 2);
    for (int64_t shift = 1; shift < q; ++shift) {
      int sum = 0;
      for (int64_t a = 0; a < q; ++a) {
        sum += field.character(a) * field.character(field.difference(a, shift));
      }
      CHECK(sum == -1);
    }
  }
  for (const int64_t none : {-1, 0, 1, 2, 4, 6, 15, 45, 171}) {
    CAPTURE(none);
    CHECK_FALSE(FiniteField::exists(none));
    CHECK_THROWS_AS(FiniteField(none), kit::Error);
  }
}

TEST_CASE("a Hadamard matrix has rows of ones and minus ones that are orthogonal",
          "[shared][hadamard]") {
  for (const int64_t size :
       {1,   2,   4,   8,   12,  16,  20,  24,  28,  32,  36,  40,  44,  48,
        52,  56,  60,  64,  68,  72,  76,  80,  84,  88,  96,  100, 104, 108,
        112, 120, 124, 128, 132, 140, 144, 148, 152, 160, 176, 344, 368, 384}) {
    CAPTURE(size);
    CHECK(defect(Hadamard(size)) == 0);
  }
}

// Of models whose widths are not powers of two: 7B and 13B of Llama, Llama 3, Qwen 2.5, Gemma,
// OLMo 2, Pythia. The core alone decides whether rows are orthogonal.
TEST_CASE("a Hadamard matrix is there for the widths of published models", "[shared][hadamard]") {
  for (const int64_t size :
       {11008, 13824, 14336, 28672, 8960, 18944, 27648, 29568, 5632,  6912,  2304,
        9216,  1152,  4864,  896,   3584, 2560,  10240, 5120,  21504, 17920, 9728}) {
    CAPTURE(size);
    const Hadamard h(size);
    CHECK(h.size() == size);
    CHECK_FALSE(h.text().empty());
  }
  CHECK(Hadamard(11008).text() == "344 x 32");
  CHECK(Hadamard(14336).text() == "28 x 512");
  CHECK(Hadamard(4096).text() == "4096");
}

TEST_CASE("a size without a Hadamard matrix is refused in one line", "[shared][hadamard]") {
  for (const int64_t size : {-4, 0, 3, 6, 10, 18, 50, 92, 172}) {
    CAPTURE(size);
    CHECK(error_of(size) == "no Hadamard matrix of size " + std::to_string(size) +
                                "; wanted a power of two, or one times a size of Paley's, such as "
                                "12, 20, 28, 36, 44 or 344");
  }
}

TEST_CASE("a fast Hadamard product is the plain one, and is undone", "[shared][hadamard]") {
  for (const int64_t size : {1, 2, 64, 12, 24, 36, 40, 96, 160, 176, 344, 384}) {
    CAPTURE(size);
    const Hadamard h(size);
    const std::vector<double> given = values_of(size);
    std::vector<double> made = given;
    std::vector<double> scratch(made.size());
    h.apply(made.data(), scratch.data());
    for (int64_t j = 0; j < size; ++j) {
      double plain = 0;
      for (int64_t i = 0; i < size; ++i) {
        plain += given[static_cast<size_t>(i)] * h.entry(i, j);
      }
      CHECK(made[static_cast<size_t>(j)] ==
            Approx(plain / std::sqrt(static_cast<double>(size))).margin(1e-13));
    }
    h.undo(made.data(), scratch.data());
    for (size_t i = 0; i < given.size(); ++i) {
      CHECK(made[i] == Approx(given[i]).margin(1e-13));
    }
  }
}

TEST_CASE("a randomized Hadamard matrix spreads one channel evenly, with signs of its stream",
          "[shared][hadamard]") {
  constexpr int64_t kSize = 96;
  const auto row = [](const std::string& stream, size_t channel) {
    std::vector<double> values(kSize);
    values[channel] = 1;
    RandomHadamard(kSize, stream)
        .multiply(std::span<double>(values), RandomHadamard::Direction::kApply);
    return values;
  };
  for (size_t channel = 0; channel < kSize; ++channel) {
    for (const double value : row("a", channel)) {
      CHECK(std::fabs(value) == Approx(1 / std::sqrt(static_cast<double>(kSize))));
    }
  }
  std::set<bool> signs;
  for (size_t channel = 0; channel < kSize; ++channel) {
    CHECK(row("a", channel) == row("a", channel));
    signs.insert(row("a", channel) == row("b", channel));
  }
  CHECK(signs.size() == 2);  // some signs are the same, and some are not
}

TEST_CASE("a randomized Hadamard product of float32 rows is float64's, rounded once",
          "[shared][hadamard]") {
  const RandomHadamard rotation(40, "test");
  std::vector<double> wide = values_of(40 * 7);
  std::vector<float> narrow(wide.begin(), wide.end());
  wide.assign(narrow.begin(), narrow.end());
  for (const auto direction :
       {RandomHadamard::Direction::kApply, RandomHadamard::Direction::kUndo}) {
    std::vector<double> exact = wide;
    std::vector<float> rounded = narrow;
    rotation.multiply(std::span<double>(exact), direction);
    rotation.multiply(std::span<float>(rounded), direction);
    for (size_t i = 0; i < exact.size(); ++i) {
      CHECK(rounded[i] == static_cast<float>(exact[i]));
    }
  }
}

}  // namespace quench::test
