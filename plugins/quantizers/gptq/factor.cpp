#include "quantizers/gptq/factor.hpp"

#include <ATen/ops/eye.h>

#include <algorithm>
#include <numeric>

#include "quantizers/gptq/decomposition.hpp"
#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr int kFloors = 6;

// A Hessian whose diagonal is damped until it can be factorized.
class Damping {
 public:
  Damping(const std::vector<double>& diagonal, double scale, const FactorOptions& options,
          Decomposition& decomposition, Factor& factor)
      : options_(options), decomposition_(decomposition), factor_(factor), diagonal_(diagonal) {
    factor.dead.resize(diagonal_.size());
    for (size_t i = 0; i < diagonal_.size(); ++i) {
      diagonal_[i] *= scale;
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

  // Decomposes H with the first diagonal that allows it. False if none does.
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
      if (decomposition_.run(damped, factor_.perm)) {
        return true;
      }
      if (options_.damp_increment <= 0 || factor_.damp + options_.damp_increment >= 1) {
        return false;
      }
      ++factor_.retries;
    }
  }

  const FactorOptions& options_;
  Decomposition& decomposition_;
  Factor& factor_;
  std::vector<double> diagonal_;  // of H; 1 for dead columns
};

std::vector<double> diagonal_of(const at::Tensor& matrix) {
  const at::Tensor host = matrix.diagonal().to(at::kCPU).contiguous();
  const double* first = host.const_data_ptr<double>();
  return {first, first + host.numel()};
}

}  // namespace

double Factor::condition() const {
  const auto [least, largest] = std::minmax_element(pivots.begin(), pivots.end());
  return *largest / *least * (*largest / *least);
}

std::optional<Factor> try_factorize(const at::Tensor& gram, double rows,
                                    const FactorOptions& options, Factor& tried,
                                    MakeDecomposition make) {
  tried = {};
  const double scale = 2.0 / rows;
  const std::unique_ptr<Decomposition> decomposition = make(gram, scale);
  if (!Damping(diagonal_of(gram), scale, options, *decomposition, tried).run()) {
    return std::nullopt;
  }
  Factor factor = std::move(tried);
  factor.upper = decomposition->upper();
  factor.pivots = diagonal_of(factor.upper);
  return factor;
}

Factor factorize(const at::Tensor& gram, double rows, const FactorOptions& options,
                 MakeDecomposition make) {
  Factor tried;
  std::optional<Factor> factor = try_factorize(gram, rows, options, tried, make);
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
