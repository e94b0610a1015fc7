#include "metrics/curvature/eigenvalues.hpp"

#include <algorithm>
#include <cmath>

#include "quench/kit/error.hpp"
#include "shared/random/random_vector.hpp"

namespace quench::curvature {

namespace {

// Whether the first `count` pairs of the tridiagonal matrix have converged.
bool near_enough(const Ritz& eigen, double beta, size_t count, double tolerance) {
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
Eigenvalues lanczos(const Operator<T>& a, uint64_t size, std::span<const Range> ranges,
                    size_t count, const LanczosLimits& limits, const std::string& stream,
                    Space<T>& space) {
  Eigenvalues out;
  count = std::min<size_t>(count, size_of(ranges));
  kit::expects(limits.vectors >= count + 3, "lanczos: wanted 3 more vectors than eigenvalues");
  const size_t kept = count + (limits.vectors - count) / 2;  // half of the rest is for new vectors
  Krylov<T> krylov(a, size, ranges, stream, limits.vectors, space);
  Ritz eigen;
  while (!out.converged) {
    const bool goes_on = krylov.products() < limits.products;
    if (goes_on && krylov.is_full()) {
      krylov.restart(eigen, kept);
      ++out.restarts;
    }
    const bool grown = goes_on && krylov.step();
    const size_t steps = krylov.steps();
    if (grown && !krylov.is_full() && (steps < count || (steps > 40 && steps % 4 != 0))) {
      continue;  // even the small problem takes time
    }
    eigen = krylov.ritz();
    const bool exhausted = goes_on && !grown;
    count = exhausted ? std::min(count, steps) : count;
    out.converged =
        exhausted || (steps >= count && near_enough(eigen, krylov.rest(), count, limits.tolerance));
    if (!grown) {
      break;
    }
  }
  for (size_t i = 0; i < std::min(count, eigen.values.size()); ++i) {
    const Vector<T> y = krylov.combination(eigen.vectors[i]);
    space.combine(y, 1.0 / metrics::norm<T>(space, y), 0.0, y);
    const Vector<T> product(space, y.size());
    krylov.multiply(y, product);
    out.values.push_back(space.dot(y, product));
    space.combine(product, 1.0, -out.values.back(), y);
    out.residuals.push_back(metrics::norm<T>(space, product));
  }
  out.products = krylov.products();
  return out;
}

template <typename T>
Eigenvalues power_iteration(const Operator<T>& a, uint64_t size, size_t count, double tolerance,
                            size_t max_iterations, const std::string& stream, Space<T>& space) {
  Eigenvalues out;
  out.converged = true;
  Basis<T> found(space);
  double shift = 0;  // added to all eigenvalues, so that the largest is largest in magnitude
  for (size_t k = 0; k < count;) {
    Vector<T> v(space, size);
    Vector<T> product(space, size);
    space.fill(
        v, [&](std::span<T> to) { random::draw_normal<T>(stream + "/" + std::to_string(k), to); });
    double value = 0;
    bool settled = false;
    for (size_t i = 0; i < max_iterations && !settled; ++i) {
      found.project_out(v);
      space.combine(v, 1.0 / metrics::norm<T>(space, v), 0.0, v);
      a(v, product);
      ++out.products;
      const double before = value;
      value = space.dot(v, product);
      if (shift > 0) {
        space.combine(product, 1.0, shift, v);
      }
      settled = i > 0 && std::abs(value - before) <= tolerance * std::abs(value);
      if (!settled && i + 1 < max_iterations) {
        std::swap(v, product);
      }
    }
    if (value < 0 && shift == 0) {  // the smallest: none that is left is larger in magnitude
      shift = -value;
      continue;
    }
    space.combine(product, 1.0, -(value + shift), v);
    out.values.push_back(value);
    out.residuals.push_back(metrics::norm<T>(space, product));
    out.converged = out.converged && settled;
    found.push(std::move(v));
    ++k;
  }
  return out;
}

template <typename T>
Quadrature quadrature(const Operator<T>& a, uint64_t size, std::span<const Range> ranges,
                      size_t steps, size_t vectors, const std::string& stream, Space<T>& space) {
  Krylov<T> krylov(a, size, ranges, stream, vectors, space);
  while (krylov.steps() < steps && krylov.step()) {
    if (krylov.is_full()) {
      krylov.forget_oldest();
    }
  }
  Quadrature out;
  const Ritz eigen = krylov.ritz();
  for (size_t i = 0; i < eigen.values.size(); ++i) {
    out.nodes.push_back(eigen.values[i]);
    out.weights.push_back(eigen.vectors[i].front() * eigen.vectors[i].front());
  }
  return out;
}

template Eigenvalues lanczos<double>(const Operator<double>&, uint64_t, std::span<const Range>,
                                     size_t, const LanczosLimits&, const std::string&,
                                     Space<double>&);
template Eigenvalues lanczos<float>(const Operator<float>&, uint64_t, std::span<const Range>,
                                    size_t, const LanczosLimits&, const std::string&,
                                    Space<float>&);
template Eigenvalues power_iteration<double>(const Operator<double>&, uint64_t, size_t, double,
                                             size_t, const std::string&, Space<double>&);
template Eigenvalues power_iteration<float>(const Operator<float>&, uint64_t, size_t, double,
                                            size_t, const std::string&, Space<float>&);
template Quadrature quadrature<double>(const Operator<double>&, uint64_t, std::span<const Range>,
                                       size_t, size_t, const std::string&, Space<double>&);
template Quadrature quadrature<float>(const Operator<float>&, uint64_t, std::span<const Range>,
                                      size_t, size_t, const std::string&, Space<float>&);

}  // namespace quench::curvature
