#include "tests/plugins/quantizers/matrix.hpp"

#include <random>

#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// For all of a suite: without a host its kernels would be the portable ones.

}  // namespace

Matrix matrix(std::vector<std::vector<double>> rows) {
  Matrix m{static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows.at(0).size()), {}};
  for (const auto& row : rows) {
    m.values.insert(m.values.end(), row.begin(), row.end());
  }
  return m;
}

Matrix transposed(const Matrix& m) {
  Matrix out{m.columns, m.rows, std::vector<double>(m.values.size())};
  for (int64_t r = 0; r < m.rows; ++r) {
    for (int64_t c = 0; c < m.columns; ++c) {
      out(c, r) = m(r, c);
    }
  }
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{a.rows, b.columns, std::vector<double>(static_cast<size_t>(a.rows * b.columns))};
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t c = 0; c < b.columns; ++c) {
        out(r, c) += a(r, k) * b(k, c);
      }
    }
  }
  return out;
}

Matrix random_matrix(int64_t rows, int64_t columns, uint64_t seed, bool correlated) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Matrix m{rows, columns, std::vector<double>(static_cast<size_t>(rows * columns))};
  for (int64_t r = 0; r < rows; ++r) {
    double before = 0;
    for (int64_t c = 0; c < columns; ++c) {
      const double fresh = normal(random);
      before = correlated ? 0.7 * before + fresh : fresh;
      const double size = correlated ? 0.3 + static_cast<double>((c * 7) % 11) / 4 : 1.0;
      m(r, c) = static_cast<float>(before * size);
    }
  }
  return m;
}

double weighted_square(const Matrix& d, const Matrix& h) {
  const Matrix dh = product(d, h);
  double sum = 0;
  for (size_t i = 0; i < d.values.size(); ++i) {
    sum += dh.values[i] * d.values[i];
  }
  return sum;
}

}  // namespace quench::test
