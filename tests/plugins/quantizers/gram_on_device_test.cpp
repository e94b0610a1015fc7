// The Gram matrix as libtorch makes it, on a GPU and with its operations in host memory.
#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "quantizers/gram/gram.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test {

namespace {

using quantizers::Gram;

// Of narrow rows more panels than are added in float32 before float64.
constexpr int64_t kObserved = 38000;

at::Tensor rows_of(int64_t columns, at::ScalarType type) {
  at::manual_seed(7);
  return at::randn({columns > 1000 ? kObserved / 8 : kObserved, columns}).add_(0.25).to(type);
}

void observe(Gram& gram, const at::Tensor& rows, const at::Tensor& weights = {}) {
  for (int64_t first = 0; first < rows.size(0); first += 9000) {  // not in whole panels
    const int64_t count = std::min<int64_t>(9000, rows.size(0) - first);
    const at::Tensor part = rows.narrow(0, first, count);
    const quench_tensor x = kit::view_of(part);
    quench_tensor weight{};
    at::Tensor of_part;
    quench_observe_args args{sizeof args, 0, &x, nullptr, nullptr, nullptr, nullptr};
    if (weights.defined()) {
      of_part = weights.narrow(0, first, count);
      weight = kit::view_of(of_part);
      args.row_weight = &weight;
    }
    gram.observe(args);
  }
}

// The largest difference to float64 sums, relative to the roots of both diagonal elements.
double off_by(Gram& gram, const at::Tensor& rows, const at::Tensor& weights = {}) {
  const at::Tensor wide = rows.to(at::kDouble);
  const at::Tensor weighted = weights.defined() ? wide.mul(weights.unsqueeze(1)) : wide;
  const at::Tensor wanted = weighted.t().mm(wide);
  const at::Tensor size = wanted.diagonal().sqrt();
  return gram.matrix()
      .cpu()
      .sub(wanted)
      .div(size.unsqueeze(1).mul(size.unsqueeze(0)))
      .abs()
      .max()
      .item<double>();
}

void adds_up(at::Device device) {
  for (const int64_t columns : {3, 64, 1100}) {
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kFloat, at::kDouble}) {
      CAPTURE(columns, at::toString(type));
      const at::Tensor rows = rows_of(columns, type);
      Gram gram(columns, false);
      observe(gram, rows.to(device));
      const bool wide = type == at::kDouble || (type == at::kFloat && columns <= 1024);
      CHECK(off_by(gram, rows) < (wide ? 1e-13 : 2e-5));
      Gram exact(columns, /*float64=*/true);
      observe(exact, rows.to(device));
      CHECK(off_by(exact, rows) < 1e-13);
    }
  }
}

void takes_weights(at::Device device) {
  const at::Tensor rows = rows_of(64, at::kBFloat16);
  at::Tensor weights = at::rand({kObserved}, at::kDouble);
  weights[5] = 0;
  Gram gram(64, false);
  observe(gram, rows.narrow(0, 0, 9000).to(device));  // panels of 16 bits first
  observe(gram, rows.to(device), weights);
  const at::Tensor all = at::cat({rows.narrow(0, 0, 9000), rows});
  const at::Tensor both = at::cat({at::ones({9000}, at::kDouble), weights});
  CHECK(off_by(gram, all, both) < 2e-5);
}

void measures_errors(at::Device device) {
  const at::Tensor rows = rows_of(1100, at::kBFloat16);
  const at::Tensor weight = at::randn({70, 1100});
  const at::Tensor coarse = weight.mul(8).round().div(8);
  Gram gram(1100, /*float64=*/true);
  observe(gram, rows.to(device));
  const at::Tensor here = weight.to(device);
  const quantizers::OutputError got =
      gram.output_error(kit::view_of(here), kit::view_of(coarse));  // one from either memory
  const at::Tensor wide = rows.to(at::kDouble);
  const auto squared = [&](const at::Tensor& matrix) {
    return wide.mm(matrix.to(at::kDouble).t()).square().sum().item<double>();
  };
  CHECK(got.error == Approx(squared(weight.sub(coarse))).epsilon(1e-9));
  CHECK(got.reference == Approx(squared(weight)).epsilon(1e-9));
}

void refuses_what_is_not_finite(at::Device device) {
  at::Tensor rows = rows_of(64, at::kBFloat16).narrow(0, 0, 100).clone();
  rows[17][9] = std::numeric_limits<double>::quiet_NaN();
  Gram gram(64, false);
  observe(gram, rows.to(device));
  CHECK_THROWS_WITH(gram.matrix(),
                    "the input of the group is not finite, or too large, in column 9");
}

}  // namespace

TEST_CASE("gram: libtorch alone, as on a GPU, adds rows up", "[quantizers][gram]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  adds_up(at::kCPU);
  takes_weights(at::kCPU);
  measures_errors(at::kCPU);
  refuses_what_is_not_finite(at::kCPU);
}

TEST_CASE("gram: on a GPU rows are added up", "[quantizers][gram][cuda]") {
  const at::Device gpu = gpu_or_skip();
  adds_up(gpu);
  takes_weights(gpu);
  measures_errors(gpu);
  refuses_what_is_not_finite(gpu);
}

}  // namespace quench::test
