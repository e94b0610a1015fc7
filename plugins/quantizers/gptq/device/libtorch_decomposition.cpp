#include <ATen/ops/flip.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "quantizers/gptq/decomposition.hpp"
#include "quench/kit/error.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

// Of a factorization in float64 of a few ten thousand columns at most 1e-11 is off, of one with
// products in TF32 1e-3. The inverse of a triangle may lose as many digits as it is wide.
constexpr double kFactorTolerance = 1e-9;
constexpr double kInverseTolerance = 1e-6;
constexpr int64_t kProbes = 4;

double largest(const at::Tensor& matrix) {
  return matrix.abs().max().item<double>();
}

class LibtorchDecomposition final : public Decomposition {
 public:
  LibtorchDecomposition(const at::Tensor& gram, double scale) : gram_(gram), scale_(scale) {}

  bool run(const std::vector<double>& diagonal, const std::vector<int32_t>& perm) override {
    const std::vector<int64_t> from(perm.rbegin(), perm.rend());
    const at::Tensor index = at::tensor(from, at::kLong).to(gram_.device());
    lower_.reset();
    at::Tensor matrix = gram_.index_select(0, index).index_select(1, index).mul_(scale_);
    matrix.diagonal().copy_(
        at::tensor(diagonal, at::kDouble).to(gram_.device()).index_select(0, index));
    const at::Tensor tolerance = matrix.diagonal().mul(static_cast<double>(matrix.size(0)) *
                                                       std::numeric_limits<double>::epsilon());
    auto [lower, info] = at::linalg_cholesky_ex(matrix);
    // A pivot is the square of a diagonal element; the comparison is false for NaN.
    const bool positive =
        info.item<int>() == 0 && lower.diagonal().square().gt(tolerance).all().item<bool>();
    if (positive) {
      const at::Tensor probes = probes_for(matrix);
      const at::Tensor wanted = matrix::product(matrix, probes);
      check("the factor", matrix::product(lower, matrix::product(lower.t(), probes)), wanted,
            kFactorTolerance);
      lower_ = lower;
    }
    return positive;
  }

  at::Tensor upper() override {
    at::Tensor one = lower_.new_zeros(lower_.sizes());
    one.diagonal().fill_(1);
    const at::Tensor inverse = at::linalg_solve_triangular(lower_, one, /*upper=*/false);
    const at::Tensor probes = probes_for(lower_);
    check("its inverse", matrix::product(lower_, matrix::product(inverse, probes)), probes,
          kInverseTolerance);
    lower_.reset();
    return inverse.flip({0, 1}).contiguous();
  }

 private:
  // Columns of 1 and -1 that differ from each other.
  static at::Tensor probes_for(const at::Tensor& matrix) {
    std::vector<double> values;
    uint64_t state = 1;
    for (int64_t i = 0; i < matrix.size(0) * kProbes; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      values.push_back((state >> 63) != 0 ? 1 : -1);
    }
    return at::from_blob(values.data(), {matrix.size(0), kProbes}, at::kDouble)
        .to(matrix.device(), at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  }

  static void check(const char* what, const at::Tensor& got, const at::Tensor& wanted,
                    double tolerance) {
    const double off = largest(got.sub(wanted)) / largest(wanted);
    if (!(off <= tolerance)) {
      kit::fail(QUENCH_NUMERICAL, "libtorch on %s: %s is %g off, wanted at most %g",
                got.device().str().c_str(), what, off, tolerance);
    }
  }

  at::Tensor gram_;
  double scale_;
  at::Tensor lower_;
};

}  // namespace

std::unique_ptr<Decomposition> decompose_by_libtorch(const at::Tensor& gram, double scale) {
  return std::make_unique<LibtorchDecomposition>(gram, scale);
}

}  // namespace quench::quantizers
