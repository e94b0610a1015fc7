// Muon's iteration by libtorch's operations, as on a GPU, beside the processor's kernels.
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include "optimizers/muon/orthogonalize.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

at::Tensor orthogonalized(const at::Tensor& matrix, bool as_on_a_gpu) {
  const at::Tensor made = matrix.clone();
  if (as_on_a_gpu) {
    const matrix::LibtorchAlone alone;
    optimizers::orthogonalize(made, 5);
  } else {
    optimizers::orthogonalize(made, 5);
  }
  return made;
}

}  // namespace

TEST_CASE("muon: on a GPU a matrix is orthogonalized as in host memory", "[optimizers][cuda]") {
  const auto [rows, columns] =
      GENERATE(table<int64_t, int64_t>({{24, 24}, {8, 40}, {40, 8}, {1, 5}}));
  const double size = GENERATE(1.0, 1e-6, 1e6);
  CAPTURE(rows, columns, size);
  const at::Tensor matrix = at::arange(rows * columns, at::TensorOptions(at::kDouble))
                                .mul(0.7)
                                .sin()
                                .mul(size)
                                .view({rows, columns})
                                .to(at::kFloat);
  const at::Tensor wanted = orthogonalized(matrix, false);
  const at::Tensor got = orthogonalized(matrix, true);
  CHECK(wanted.abs().max().item<float>() > 0.01F);
  CHECK(got.sub(wanted).abs().max().item<float>() < 1e-4F);
}

TEST_CASE("muon: a matrix of zeros stays one, on a GPU, too", "[optimizers][cuda]") {
  const at::Tensor zeros = at::zeros({6, 4}, at::kFloat);
  CHECK(orthogonalized(zeros, false).eq(0).all().item<bool>());
  CHECK(orthogonalized(zeros, true).eq(0).all().item<bool>());
}

}  // namespace quench::test
