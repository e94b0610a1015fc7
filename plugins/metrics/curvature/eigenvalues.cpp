#include "metrics/curvature/eigenvalues.hpp"

#include <algorithm>
#include <cmath>

#include "metrics/curvature/algebra.hpp"
#include "metrics/curvature/random_vector.hpp"
#include "metrics/curvature/tridiagonal.hpp"

namespace quench::curvature {

namespace {

template <typename T>
using Basis = std::vector<std::vector<T>>;

// w minus its parts along the basis; one pass over the basis for the parts, one for the rest.
template <typename T>
void project_out(const Basis<T>& basis, std::span<T> w) {
  std::vector<double> parts;
  for (const std::vector<T>& v : basis) {
    parts.push_back(dot<T>(v, w));
  }
  kit::parallel_for(w.size(), kRange, [&](uint64_t begin, uint64_t end) {
    std::vector<double> rest(w.begin() + static_cast<int64_t>(begin),
                             w.begin() + static_cast<int64_t>(end));
    for (size_t j = 0; j < basis.size(); ++j) {
      const T* v = basis[j].data() + begin;
      for (size_t i = 0; i < rest.size(); ++i) {
        rest[i] -= parts[j] * static_cast<double>(v[i]);
      }
    }
    for (size_t i = 0; i < rest.size(); ++i) {
      w[begin + i] = static_cast<T>(rest[i]);
    }
  });
}

// Lanczos vectors in a range of the whole, and the tridiagonal matrix they make.
template <typename T>
class Krylov {
 public:
  Krylov(const Operator<T>& a, uint64_t size, Range range, const std::string& stream)
      : a_(a), range_(range), whole_(size), product_(size), next_(range.end - range.first) {
    draw_normal<T>(stream, next_);
    beta_ = norm<T>(next_);
  }

  // One more vector and one product; false when the space is exhausted.
  bool step() {
    const double floor = scale_ * 1e-14 * std::sqrt(static_cast<double>(next_.size()));
    if (basis_.size() == next_.size() || beta_ <= floor) {
      return false;
    }
    if (!basis_.empty()) {
      below.push_back(beta_);
    }
    scale<T>(next_, 1.0 / beta_);
    basis_.push_back(next_);
    multiply(basis_.back(), next_);
    diagonal.push_back(dot<T>(basis_.back(), next_));
    scale_ = std::max({scale_, std::abs(diagonal.back()), below.empty() ? 0.0 : below.back()});
    project_out<T>(basis_, next_);
    project_out<T>(basis_, next_);
    beta_ = norm<T>(next_);
    return true;
  }

  // out = the block of A in the range times v.
  void multiply(std::span<const T> v, std::span<T> out) {
    std::copy(v.begin(), v.end(), whole_.begin() + static_cast<int64_t>(range_.first));
    a_(whole_, product_);
    std::copy(product_.begin() + static_cast<int64_t>(range_.first),
              product_.begin() + static_cast<int64_t>(range_.end), out.begin());
    ++products;
  }

  // Σ coefficient_j v_j.
  std::vector<T> combination(const std::vector<double>& coefficients) const {
    std::vector<T> out(next_.size());
    kit::parallel_for(out.size(), kRange, [&](uint64_t begin, uint64_t end) {
      std::vector<double> sum(end - begin, 0.0);
      for (size_t j = 0; j < coefficients.size(); ++j) {
        for (size_t i = 0; i < sum.size(); ++i) {
          sum[i] += coefficients[j] * static_cast<double>(basis_[j][begin + i]);
        }
      }
      for (size_t i = 0; i < sum.size(); ++i) {
        out[begin + i] = static_cast<T>(sum[i]);
      }
    });
    return out;
  }

  double beta() const { return beta_; }

  std::vector<double> diagonal;
  std::vector<double> below;
  uint64_t products = 0;

 private:
  const Operator<T>& a_;
  Range range_;
  std::vector<T> whole_;
  std::vector<T> product_;
  std::vector<T> next_;
  Basis<T> basis_;
  double beta_ = 0;
  double scale_ = 0;
};

// Whether the first `count` pairs of the tridiagonal matrix are near enough.
bool near_enough(const TridiagonalEigen& eigen, double beta, size_t count, double tolerance) {
  const double size = std::max(std::abs(eigen.values.front()), std::abs(eigen.values.back()));
  for (size_t i = 0; i < count; ++i) {
    if (beta * std::abs(eigen.vectors[i].back()) > tolerance * size) {
      return false;
    }
  }
  return true;
}

}  // namespace

template <typename T>
Eigenvalues lanczos(const Operator<T>& a, uint64_t size, Range range, size_t count,
                    double tolerance, size_t max_steps, const std::string& stream) {
  Eigenvalues out;
  Krylov<T> space(a, size, range, stream);
  TridiagonalEigen eigen;
  count = std::min<size_t>(count, range.end - range.first);
  while (!out.converged) {
    const bool grown = space.diagonal.size() < max_steps && space.step();
    const size_t steps = space.diagonal.size();
    if (grown && (steps < count || (steps > 40 && steps % 4 != 0))) {
      continue;  // the small problem is not free either
    }
    eigen = tridiagonal_eigen(space.diagonal, space.below);
    const bool exhausted = !grown && steps < max_steps;
    count = exhausted ? std::min(count, steps) : count;
    out.converged =
        exhausted || (steps >= count && near_enough(eigen, space.beta(), count, tolerance));
    if (!grown) {
      break;
    }
  }
  for (size_t i = 0; i < std::min(count, eigen.values.size()); ++i) {
    std::vector<T> y = space.combination(eigen.vectors[i]);
    scale<T>(y, 1.0 / norm<T>(y));
    std::vector<T> product(y.size());
    space.multiply(y, product);
    out.values.push_back(dot<T>(y, product));
    combine<T>(product, 1.0, -out.values.back(), y);
    out.residuals.push_back(norm<T>(product));
  }
  out.products = space.products;
  return out;
}

template <typename T>
Eigenvalues power_iteration(const Operator<T>& a, uint64_t size, size_t count, double tolerance,
                            size_t max_iterations, const std::string& stream) {
  Eigenvalues out;
  out.converged = true;
  Basis<T> found;
  for (size_t k = 0; k < count; ++k) {
    std::vector<T> v(size);
    std::vector<T> product(size);
    draw_normal<T>(stream + "/" + std::to_string(k), v);
    double value = 0;
    bool settled = false;
    for (size_t i = 0; i < max_iterations && !settled; ++i) {
      project_out<T>(found, v);
      scale<T>(v, 1.0 / norm<T>(v));
      a(v, product);
      ++out.products;
      const double before = value;
      value = dot<T>(v, product);
      settled = i > 0 && std::abs(value - before) <= tolerance * std::abs(value);
      if (!settled && i + 1 < max_iterations) {
        std::swap(v, product);
      }
    }
    combine<T>(product, 1.0, -value, v);
    out.values.push_back(value);
    out.residuals.push_back(norm<T>(product));
    out.converged = out.converged && settled;
    found.push_back(v);
  }
  return out;
}

template <typename T>
Quadrature quadrature(const Operator<T>& a, uint64_t size, size_t steps,
                      const std::string& stream) {
  Krylov<T> space(a, size, {0, size}, stream);
  while (space.diagonal.size() < steps && space.step()) {
  }
  Quadrature out;
  const TridiagonalEigen eigen = tridiagonal_eigen(space.diagonal, space.below);
  for (size_t i = 0; i < eigen.values.size(); ++i) {
    out.nodes.push_back(eigen.values[i]);
    out.weights.push_back(eigen.vectors[i].front() * eigen.vectors[i].front());
  }
  return out;
}

template Eigenvalues lanczos<double>(const Operator<double>&, uint64_t, Range, size_t, double,
                                     size_t, const std::string&);
template Eigenvalues lanczos<float>(const Operator<float>&, uint64_t, Range, size_t, double, size_t,
                                    const std::string&);
template Eigenvalues power_iteration<double>(const Operator<double>&, uint64_t, size_t, double,
                                             size_t, const std::string&);
template Eigenvalues power_iteration<float>(const Operator<float>&, uint64_t, size_t, double,
                                            size_t, const std::string&);
template Quadrature quadrature<double>(const Operator<double>&, uint64_t, size_t,
                                       const std::string&);
template Quadrature quadrature<float>(const Operator<float>&, uint64_t, size_t, const std::string&);

}  // namespace quench::curvature
