#include <ATen/ops/empty.h>

#include <algorithm>

#include "quantizers/gptq/cholesky.hpp"
#include "quantizers/gptq/decomposition.hpp"
#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 32;

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

class HostDecomposition final : public Decomposition {
 public:
  HostDecomposition(const at::Tensor& gram, double scale)
      : gram_(gram.to(at::kCPU).contiguous()),
        scale_(scale),
        matrix_(at::empty(gram_.sizes(), gram_.options())) {}

  bool run(const std::vector<double>& diagonal, const std::vector<int32_t>& perm) override {
    fill_reversed(gram_.const_data_ptr<double>(), scale_, diagonal, perm,
                  matrix_.data_ptr<double>());
    return cholesky_in_place(matrix_);
  }

  at::Tensor upper() override {
    invert_lower_in_place(matrix_);
    auto* begin = matrix_.data_ptr<double>();
    std::reverse(begin, begin + matrix_.numel());  // rows and columns at once
    return matrix_;
  }

 private:
  at::Tensor gram_;
  double scale_;
  at::Tensor matrix_;
};

}  // namespace

std::unique_ptr<Decomposition> decompose_on_host(const at::Tensor& gram, double scale) {
  return std::make_unique<HostDecomposition>(gram, scale);
}

std::unique_ptr<Decomposition> decompose_where_it_is(const at::Tensor& gram, double scale) {
  return gram.is_cpu() ? decompose_on_host(gram, scale) : decompose_by_libtorch(gram, scale);
}

}  // namespace quench::quantizers
