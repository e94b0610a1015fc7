#include "transforms/rotation/orthogonal.hpp"

#include <cmath>
#include <numbers>

#include "quench/kit/host.hpp"
#include "shared/hadamard/hadamard.hpp"

namespace quench::transforms {

namespace {

double unit(uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

// Makes the rows of `m` [size, size] orthonormal, one after the other (Gram-Schmidt, twice).
void orthonormalize(double* m, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    double* row = m + i * size;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < i; ++j) {
        const double* other = m + j * size;
        double along = 0;
        for (int64_t c = 0; c < size; ++c) {
          along += row[c] * other[c];
        }
        for (int64_t c = 0; c < size; ++c) {
          row[c] -= along * other[c];
        }
      }
    }
    double length = 0;
    for (int64_t c = 0; c < size; ++c) {
      length += row[c] * row[c];
    }
    for (int64_t c = 0; c < size; ++c) {
      row[c] /= std::sqrt(length);
    }
  }
}

std::vector<double> normal_numbers(const std::string& stream, uint64_t at, uint64_t count) {
  const std::vector<uint64_t> bits = kit::random_uniform(stream, 2 * at, 2 * count);
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {  // Box and Muller 1958
    values[i] = std::sqrt(-2 * std::log(unit(bits[2 * i]))) *
                std::cos(2 * std::numbers::pi * unit(bits[2 * i + 1]));
  }
  return values;
}

// A random orthogonal matrix. If asked, it maps (1,...,1) / sqrt(size) to itself: Q' diag(1, G) Q,
// where that vector is the first row of the orthogonal Q and G is random.
std::vector<double> random_orthogonal(const std::string& stream, uint64_t at, int64_t size,
                                      bool keeps_mean) {
  const auto elements = static_cast<uint64_t>(size * size);
  std::vector<double> g = normal_numbers(stream, at, elements);
  if (!keeps_mean) {
    orthonormalize(g.data(), size);
    return g;
  }
  std::vector<double> q = normal_numbers(stream + "/basis", at, elements);
  for (int64_t c = 0; c < size; ++c) {
    q[static_cast<size_t>(c)] = 1;
    g[static_cast<size_t>(c)] = c == 0 ? 1 : 0;
    g[static_cast<size_t>(c * size)] = c == 0 ? 1 : 0;
  }
  orthonormalize(q.data(), size);
  orthonormalize(g.data(), size);
  std::vector<double> out(elements);
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      for (int64_t k = 0; k < size; ++k) {
        for (int64_t l = 0; l < size; ++l) {
          out[static_cast<size_t>(i * size + j)] += q[static_cast<size_t>(k * size + i)] *
                                                    g[static_cast<size_t>(k * size + l)] *
                                                    q[static_cast<size_t>(l * size + j)];
        }
      }
    }
  }
  return out;
}

}  // namespace

Orthogonal::Orthogonal(int64_t size, bool keeps_mean, const std::string& stream)
    : size_(size), odd_(size), run_(1) {
  while (odd_ % 2 == 0) {
    odd_ /= 2;
    run_ *= 2;
  }
  constexpr int64_t kMostOdd = 63;
  if (odd_ > kMostOdd) {
    kit::fail(QUENCH_UNSUPPORTED, "width %lld is %lld times a power of two, wanted at most %lld",
              static_cast<long long>(size), static_cast<long long>(odd_),
              static_cast<long long>(kMostOdd));
  }
  for (int64_t place = 0; place < run_; ++place) {
    // The first output of H is the sum of a run.
    const std::vector<double> mix = random_orthogonal(
        stream, static_cast<uint64_t>(place * odd_ * odd_), odd_, keeps_mean && place == 0);
    mixes_.insert(mixes_.end(), mix.begin(), mix.end());
  }
}

// Applies the Hadamard matrix to each run, divided by the root of its size: its own inverse.
void Orthogonal::hadamard(double* values) const {
  for (int64_t first = 0; first < size_; first += run_) {
    hadamard::multiply_sylvester(values + first, run_);
  }
  const double root = std::sqrt(static_cast<double>(run_));
  for (int64_t i = 0; i < size_; ++i) {
    values[i] /= root;
  }
}

void Orthogonal::apply(double* values) const {
  hadamard(values);
  std::vector<double> mixed(static_cast<size_t>(odd_));
  for (int64_t place = 0; place < run_; ++place) {
    const double* mix = mixes_.data() + place * odd_ * odd_;
    for (int64_t j = 0; j < odd_; ++j) {
      mixed[static_cast<size_t>(j)] = 0;
      for (int64_t i = 0; i < odd_; ++i) {
        mixed[static_cast<size_t>(j)] += values[i * run_ + place] * mix[i * odd_ + j];
      }
    }
    for (int64_t j = 0; j < odd_; ++j) {
      values[j * run_ + place] = mixed[static_cast<size_t>(j)];
    }
  }
  hadamard(values);
}

}  // namespace quench::transforms
