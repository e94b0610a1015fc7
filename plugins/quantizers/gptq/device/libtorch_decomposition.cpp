#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "quantizers/gptq/decomposition.hpp"
#include "quantizers/gptq/device/triangles.hpp"
#include "quench/kit/error.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

// Of a factorization in float64 of a few ten thousand columns at most 1e-11 is off, of one with
// products in TF32 1e-3. The inverse of a triangle may lose as many digits as it is wide.
constexpr double kFactorTolerance = 1e-9;
constexpr double kInverseTolerance = 1e-6;
constexpr int64_t kProbes = 4;
constexpr int64_t kLeastRows = 512;
constexpr int64_t kElements = int64_t{1} << 24;  // of rows that are permuted at once, 128 MiB

class LibtorchDecomposition final : public Decomposition {
 public:
  LibtorchDecomposition(const at::Tensor& gram, double scale) : gram_(gram), scale_(scale) {}

  bool run(const std::vector<double>& diagonal, const std::vector<int32_t>& perm) override {
    const std::vector<int64_t> from(perm.rbegin(), perm.rend());
    const at::Tensor index = at::tensor(from, at::kLong).to(gram_.device());
    lower_.reset();
    at::Tensor matrix = permuted(index);
    matrix.diagonal().copy_(
        at::tensor(diagonal, at::kDouble).to(gram_.device()).index_select(0, index));
    const at::Tensor tolerance = matrix.diagonal().mul(static_cast<double>(matrix.size(0)) *
                                                       std::numeric_limits<double>::epsilon());
    const at::Tensor probes = probes_for(matrix);
    const at::Tensor wanted = matrix::product(matrix, probes);
    at::Tensor info = at::empty({}, matrix.options().dtype(at::kInt));
    at::Tensor lower = matrix.t();  // in place only where columns are contiguous
    at::linalg_cholesky_ex_out(lower, info, lower);
    // A pivot is the square of a diagonal element; the comparison is false for NaN.
    const bool positive =
        lower.diagonal().square().gt(tolerance).all().logical_and(info.eq(0)).item<bool>();
    if (positive) {
      check("the factor", matrix::product(lower, matrix::product(lower.t(), probes)), wanted,
            kFactorTolerance);
      lower_ = lower;
    }
    return positive;
  }

  at::Tensor upper() override {
    const at::Tensor probes = probes_for(lower_);
    const at::Tensor wanted = matrix::product(lower_, probes);
    invert_lower_on_device(lower_);
    check("its inverse", matrix::product(lower_, wanted), probes, kInverseTolerance);
    const at::Tensor rows = lower_.t();
    lower_.reset();
    reverse_and_transpose_in_place(rows);
    return rows;
  }

 private:
  // scale * G[index, index], a few rows at a time: of a wide group two such matrices are all that
  // fits.
  at::Tensor permuted(const at::Tensor& index) const {
    const int64_t n = gram_.size(0);
    at::Tensor out = at::empty({n, n}, gram_.options());
    const int64_t most = std::max(kLeastRows, kElements / n);
    for (int64_t first = 0; first < n; first += most) {
      const int64_t count = std::min(most, n - first);
      out.narrow(0, first, count)
          .copy_(gram_.index_select(0, index.narrow(0, first, count)).index_select(1, index));
    }
    return out.mul_(scale_);
  }

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
    const at::Tensor off_by = got.sub(wanted).abs().max().div(wanted.abs().max());
    const double off = off_by.item<double>();
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
