#include "quantizers/gptq/factor.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

#include "quantizers/gptq/cholesky.hpp"
#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 32;

// The lower triangle of J H J in the order of `perm`, with `diagonal` (original order) in place of
// the diagonal of H.
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

}  // namespace

Factor factorize(const at::Tensor& gram, double rows, const FactorOptions& options) {
  const at::Tensor host = gram.to(at::kCPU).contiguous();
  const auto* elements = host.const_data_ptr<double>();
  const int64_t n = host.size(0);
  const double scale = 2.0 / rows;

  Factor factor;
  factor.dead.resize(static_cast<size_t>(n));
  std::vector<double> diagonal(static_cast<size_t>(n));
  for (size_t i = 0; i < diagonal.size(); ++i) {
    diagonal[i] = scale * elements[i * diagonal.size() + i];
    factor.dead[i] = diagonal[i] == 0;
    if (factor.dead[i] != 0) {
      diagonal[i] = 1;
      ++factor.dead_count;
    }
  }
  factor.perm.resize(diagonal.size());
  std::iota(factor.perm.begin(), factor.perm.end(), 0);
  if (options.desc_act) {
    std::stable_sort(factor.perm.begin(), factor.perm.end(), [&](int32_t a, int32_t b) {
      return diagonal[static_cast<size_t>(a)] > diagonal[static_cast<size_t>(b)];
    });
  }
  const double mean =
      std::accumulate(diagonal.begin(), diagonal.end(), 0.0) / static_cast<double>(n);

  at::Tensor a = at::empty({n, n}, host.options());
  auto* begin = a.data_ptr<double>();
  std::vector<double> damped(diagonal.size());
  for (factor.damp = options.damp;; factor.damp += options.damp_increment, ++factor.retries) {
    std::transform(diagonal.begin(), diagonal.end(), damped.begin(),
                   [&](double h) { return h + factor.damp * mean; });
    fill_reversed(elements, scale, damped, factor.perm, begin);
    if (cholesky_in_place(a)) {
      break;
    }
    if (options.damp_increment <= 0 || factor.damp + options.damp_increment >= 1) {
      kit::fail(QUENCH_NUMERICAL,
                "the Hessian is not positive definite with damp %g after %lld retries", factor.damp,
                static_cast<long long>(factor.retries));
    }
  }
  invert_lower_in_place(a);
  std::reverse(begin, begin + n * n);  // rows and columns at once: U = J L^-1 J
  factor.upper = a;
  for (int64_t i = 0; i < n; ++i) {
    factor.pivots.push_back(begin[i * n + i]);
  }
  return factor;
}

}  // namespace quench::quantizers
