#include "quantizers/gptq/factor.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>

#include <algorithm>
#include <numeric>

#include "quantizers/gptq/cholesky.hpp"
#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 32;
constexpr int kFloors = 6;

// The lower triangle of J H J in the order of `perm`, with `diagonal` (in original order) instead
// of the diagonal of H.
void fill_reversed(const double* gram, double scale, const std::vector<double>& diagonal,
                   const std::vector<int32_t>& perm, double* a) {
  const auto n = static_cast<int64_t>(perm.size());
  const std::vector<int64_t> from(perm.rbegin(), perm.rend());
  kit::parallel_for(static_cast<uint64_t>(n), kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
      const int64_t source = from[static_cast<size_t>(i)];
      const double* row = gram + source * n;
      for (int64_t j = 0; j < i; ++j) {
        a[i * n + j] = scale * row[from[static_cast<size_t>(j)]];
      }
      a[i * n + i] = diagonal[static_cast<size_t>(source)];
    }
  });
}

// A Hessian whose diagonal is damped until it can be factorized.
class Damping {
 public:
  Damping(const at::Tensor& gram, double rows, const FactorOptions& options, Factor& factor)
      : gram_(gram.const_data_ptr<double>()),
        scale_(2.0 / rows),
        options_(options),
        factor_(factor),
        diagonal_(static_cast<size_t>(gram.size(0))),
        matrix_(at::empty(gram.sizes(), gram.options())) {
    factor.dead.resize(diagonal_.size());
    for (size_t i = 0; i < diagonal_.size(); ++i) {
      diagonal_[i] = scale_ * gram_[i * diagonal_.size() + i];
      factor.dead[i] = diagonal_[i] == 0;
      if (factor.dead[i] != 0) {
        diagonal_[i] = 1;
        ++factor.dead_count;
      }
    }
    factor.perm = order_of_columns(diagonal_, options.order, options.group_size);
    factor.mean_diagonal = mean(diagonal_);
    factor.largest_diagonal = *std::max_element(diagonal_.begin(), diagonal_.end());
  }

  // Computes L of J H J in the lower triangle of matrix(). False if it fails.
  bool run() {
    if (damp(diagonal_)) {
      return true;
    }
    factor_.floor = options_.raise_floor ? 1e-6 : 0;
    for (int attempt = 0; options_.raise_floor && attempt < kFloors;
         ++attempt, factor_.floor *= 10) {
      const double floor = factor_.floor * factor_.largest_diagonal;
      std::vector<double> raised = diagonal_;
      for (double& h : raised) {
        h = std::max(h + floor, floor);
      }
      ++factor_.retries;
      if (damp(raised)) {
        return true;
      }
    }
    return false;
  }

  at::Tensor& matrix() { return matrix_; }

 private:
  static double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  bool damp(const std::vector<double>& from) {
    std::vector<double> damped = from;
    for (factor_.damp = options_.damp;; factor_.damp += options_.damp_increment) {
      if (!options_.cumulative) {
        damped = from;
      }
      const double added = factor_.damp * mean(damped);
      for (double& h : damped) {
        h += added;
      }
      fill_reversed(gram_, scale_, damped, factor_.perm, matrix_.data_ptr<double>());
      if (cholesky_in_place(matrix_)) {
        return true;
      }
      if (options_.damp_increment <= 0 || factor_.damp + options_.damp_increment >= 1) {
        return false;
      }
      ++factor_.retries;
    }
  }

  const double* gram_;
  double scale_;
  const FactorOptions& options_;
  Factor& factor_;
  std::vector<double> diagonal_;  // of H; 1 for dead columns
  at::Tensor matrix_;
};

}  // namespace

double Factor::condition() const {
  const auto [least, largest] = std::minmax_element(pivots.begin(), pivots.end());
  return *largest / *least * (*largest / *least);
}

std::optional<Factor> try_factorize(const at::Tensor& gram, double rows,
                                    const FactorOptions& options, Factor& tried) {
  const at::Tensor host = gram.to(at::kCPU).contiguous();
  tried = {};
  Damping damping(host, rows, options, tried);
  if (!damping.run()) {
    return std::nullopt;
  }
  Factor factor = std::move(tried);
  factor.upper = damping.matrix();
  invert_lower_in_place(factor.upper);
  const int64_t n = host.size(0);
  auto* begin = factor.upper.data_ptr<double>();
  std::reverse(begin, begin + n * n);  // reverses rows and columns at once: U = J L^-1 J
  for (int64_t i = 0; i < n; ++i) {
    factor.pivots.push_back(begin[i * n + i]);
  }
  return factor;
}

Factor factorize(const at::Tensor& gram, double rows, const FactorOptions& options) {
  Factor tried;
  std::optional<Factor> factor = try_factorize(gram, rows, options, tried);
  if (!factor) {
    kit::fail(QUENCH_NUMERICAL,
              "the Hessian is not positive definite with damp %g after %lld retries", tried.damp,
              static_cast<long long>(tried.retries));
  }
  return std::move(*factor);
}

Factor no_compensation(int64_t columns) {
  Factor factor;
  factor.perm = order_of_columns(std::vector<double>(static_cast<size_t>(columns), 1),
                                 ColumnOrder::kGiven, -1);
  factor.dead.resize(factor.perm.size());
  factor.pivots.assign(factor.perm.size(), 1);
  factor.upper = at::eye(columns, at::kDouble);
  return factor;
}

}  // namespace quench::quantizers
