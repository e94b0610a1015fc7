#include "shared/hadamard/hadamard.hpp"

#include <bit>
#include <cmath>
#include <optional>

#include "quench/kit/error.hpp"
#include "shared/hadamard/finite_field.hpp"

namespace quench::hadamard {

namespace {

constexpr int64_t kLargestCore = 2048;  // its square is what a vector costs beyond n log n

using Entries = std::vector<int8_t>;

// The matrix of Jacobsthal, Q[a, b] = character(a - b), with a border of ones before it; where it
// is antisymmetric, q = 3 mod 4, the column before it is of -1.
Entries bordered(const FiniteField& field) {
  const int64_t size = field.size() + 1;
  const auto below = static_cast<int8_t>(field.size() % 4 == 3 ? -1 : 1);
  Entries out(static_cast<size_t>(size * size));
  for (int64_t a = 1; a < size; ++a) {
    out[static_cast<size_t>(a)] = 1;
    out[static_cast<size_t>(a * size)] = below;
    for (int64_t b = 1; b < size; ++b) {
      out[static_cast<size_t>(a * size + b)] =
          static_cast<int8_t>(field.character(field.difference(a - 1, b - 1)));
    }
  }
  return out;
}

// I: H = I + S, where S S' = q I and S' = -S.
Entries first_construction(int64_t size) {
  Entries out = bordered(FiniteField(size - 1));
  for (int64_t i = 0; i < size; ++i) {
    out[static_cast<size_t>(i * size + i)] = 1;
  }
  return out;
}

// II: H = S x [1 1; 1 -1] + I x [1 -1; -1 -1], where S S' = q I and S' = S has zeros on its
// diagonal.
Entries second_construction(int64_t size) {
  const int64_t half = size / 2;
  const Entries s = bordered(FiniteField(half - 1));
  Entries out(static_cast<size_t>(size * size));
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      const bool diagonal = i / 2 == j / 2;
      const bool last = i % 2 == 1 && j % 2 == 1;
      const bool mixed = i % 2 != j % 2;
      const int of = diagonal ? 1 : s[static_cast<size_t>(i / 2 * half + j / 2)];
      out[static_cast<size_t>(i * size + j)] =
          static_cast<int8_t>(last || (diagonal && mixed) ? -of : of);
    }
  }
  return out;
}

std::optional<Entries> paley(int64_t size) {
  if (size % 4 != 0) {
    return std::nullopt;
  }
  if (FiniteField::exists(size - 1)) {  // which is 3 mod 4
    return first_construction(size);
  }
  if ((size / 2 - 1) % 4 == 1 && FiniteField::exists(size / 2 - 1)) {
    return second_construction(size);
  }
  return std::nullopt;
}

}  // namespace

void multiply_sylvester(double* values, int64_t size) {
  for (int64_t half = 1; half < size; half *= 2) {
    for (int64_t begin = 0; begin < size; begin += 2 * half) {
      for (int64_t i = begin; i < begin + half; ++i) {
        const double a = values[i];
        const double b = values[i + half];
        values[i] = a + b;
        values[i + half] = a - b;
      }
    }
  }
}

Hadamard::Hadamard(int64_t size) {
  int64_t odd = size > 0 ? size : 1;
  while (odd % 2 == 0) {
    odd /= 2;
  }
  if (size > 0 && odd == 1) {
    run_ = size;
    return;
  }
  for (int64_t core = 4 * odd; core <= kLargestCore && core <= size; core *= 2) {
    if (std::optional<Entries> made = paley(core)) {
      core_ = core;
      run_ = size / core;
      core_entries_ = std::move(*made);
      return;
    }
  }
  kit::fail(QUENCH_UNSUPPORTED,
            "no Hadamard matrix of size %lld; wanted a power of two, or one times a size of "
            "Paley's, such as 12, 20, 28, 36, 44 or 344",
            static_cast<long long>(size));
}

std::string Hadamard::text() const {
  return core_ == 1 ? std::to_string(run_) : std::to_string(core_) + " x " + std::to_string(run_);
}

int Hadamard::entry(int64_t row, int64_t column) const {
  const auto both = static_cast<uint64_t>((row % run_) & (column % run_));
  const int walsh = std::popcount(both) % 2 == 0 ? 1 : -1;
  return core_ == 1
             ? walsh
             : walsh * core_entries_[static_cast<size_t>(row / run_ * core_ + column / run_)];
}

void Hadamard::multiply(double* values, double* scratch, bool transposed) const {
  for (int64_t i = 0; i < core_; ++i) {
    multiply_sylvester(values + i * run_, run_);
  }
  const double* made = values;
  if (core_ > 1) {
    made = scratch;
    for (int64_t j = 0; j < core_; ++j) {
      double* out = scratch + j * run_;
      for (int64_t b = 0; b < run_; ++b) {
        out[b] = 0;
      }
      for (int64_t i = 0; i < core_; ++i) {
        const double sign = core_entries_[static_cast<size_t>(transposed ? j * core_ + i  //
                                                                         : i * core_ + j)];
        for (int64_t b = 0; b < run_; ++b) {
          out[b] += sign * values[i * run_ + b];
        }
      }
    }
  }
  const double root = std::sqrt(static_cast<double>(size()));
  for (int64_t i = 0; i < size(); ++i) {
    values[i] = made[i] / root;
  }
}

}  // namespace quench::hadamard
