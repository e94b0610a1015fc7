#include "tests/plugins/optimizers/reference_rules.hpp"

#include <algorithm>
#include <cmath>

namespace quench::test {

void AdamWReference::step(const ReferenceStep& s, Values& w, const Values& g) {
  m.resize(w.size());
  v.resize(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    const double gradient = s.gradient_scale * g[i];
    m[i] = beta1 * m[i] + (1 - beta1) * gradient;
    v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
    const double first = m[i] / (1 - std::pow(beta1, s.step));
    const double second = v[i] / (1 - std::pow(beta2, s.step));
    w[i] = (1 - s.taken()) * w[i] - s.lr * first / (std::sqrt(second) + epsilon);
  }
}

void SgdReference::step(const ReferenceStep& s, Values& w, const Values& g) {
  m.resize(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    const double gradient = s.gradient_scale * g[i];
    m[i] = momentum * m[i] + gradient;
    const double direction = nesterov ? gradient + momentum * m[i] : m[i];
    w[i] = (1 - s.taken()) * w[i] - s.lr * direction;
  }
}

void ScheduleFreeReference::step(const ReferenceStep& s, Values& y, const Values& g) {
  if (z.empty()) {
    z = x = y;
    v.resize(y.size());
  }
  highest = std::max(highest, s.lr);
  sum += highest * highest;
  const double c = sum > 0 ? highest * highest / sum : 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double gradient = s.gradient_scale * g[i];
    v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
    const double second = v[i] / (1 - std::pow(beta2, s.step));
    z[i] -= s.lr * gradient / (std::sqrt(second) + epsilon) + s.taken() * y[i];
    x[i] = (1 - c) * x[i] + c * z[i];
    y[i] = (1 - beta1) * z[i] + beta1 * x[i];
  }
}

namespace {

// a [n, k] times b [k, m].
Values product(const Values& a, const Values& b, size_t n, size_t k, size_t m) {
  Values out(n * m);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < k; ++j) {
      for (size_t l = 0; l < m; ++l) {
        out[i * m + l] += a[i * k + j] * b[j * m + l];
      }
    }
  }
  return out;
}

Values transposed(const Values& a, size_t rows, size_t columns) {
  Values out(a.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      out[j * rows + i] = a[i * columns + j];
    }
  }
  return out;
}

// X ← aX + (bA + cA²)X with A = XXᵀ, from X/‖X‖, for rows <= columns.
Values newton_schulz(Values x, size_t rows, size_t columns, int iterations) {
  double norm = 0;
  for (const double value : x) {
    norm += value * value;
  }
  for (double& value : x) {
    value /= std::sqrt(norm);
  }
  for (int i = 0; i < iterations; ++i) {
    const Values a = product(x, transposed(x, rows, columns), rows, columns, rows);
    Values b = product(a, a, rows, rows, rows);
    for (size_t e = 0; e < b.size(); ++e) {
      b[e] = -4.7750 * a[e] + 2.0315 * b[e];
    }
    const Values bx = product(b, x, rows, rows, columns);
    for (size_t e = 0; e < x.size(); ++e) {
      x[e] = 3.4445 * x[e] + bx[e];
    }
  }
  return x;
}

}  // namespace

void MuonReference::step(const ReferenceStep& s, Values& w, const Values& g) {
  m.resize(w.size());
  Values direction(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    const double gradient = s.gradient_scale * g[i];
    m[i] = momentum * m[i] + gradient;
    direction[i] = nesterov ? gradient + momentum * m[i] : m[i];
  }
  if (rows > columns) {
    direction =
        transposed(newton_schulz(transposed(direction, rows, columns), columns, rows, iterations),
                   columns, rows);
  } else {
    direction = newton_schulz(direction, rows, columns, iterations);
  }
  const double rate = s.lr * 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns)));
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = (1 - s.taken()) * w[i] - rate * direction[i];
  }
}

}  // namespace quench::test
