// The family by libtorch's operations alone, as on a GPU.
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/decoder/residence.hpp"
#include "models/mamba/composed_scan.hpp"
#include "models/mamba/linear_recurrence.hpp"
#include "quench/abi/kind/model.h"
#include "quench/kit/scalar.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/mamba/reference.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// A prefix with alternatives of which one goes on behind the other, documents, and padding.
const std::vector<int32_t> kMixed = {1, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0, 1, 1, 2, 1, 2, -1};

mamba::SharedPredecessors predecessors(int64_t rows, int64_t length,
                                       const std::vector<int32_t>& segments) {
  std::vector<int32_t> ids(static_cast<size_t>(rows * length));
  const int64_t shape[] = {rows, length};
  const auto view = [&](const std::vector<int32_t>& values) {
    return quench_tensor{const_cast<int32_t*>(values.data()),
                         {QUENCH_DEVICE_CPU, 0},
                         2,
                         kit::kInt32,
                         shape,
                         nullptr,
                         0};
  };
  const quench_tensor tokens = view(ids);
  const quench_tensor kinds = view(segments);
  const quench_batch batch = {sizeof batch, 0, &tokens, nullptr,
                              segments.empty() ? nullptr : &kinds};
  return c10::make_intrusive<mamba::Predecessors>(decoder::Batch(&batch, decoder::kMaxPositions),
                                                  at::kCPU);
}

// Numbers in (low, high) that repeat nowhere near.
at::Tensor numbers(int64_t rows, int64_t columns, double low, double high, double pace) {
  return at::arange(rows * columns, at::TensorOptions(at::kDouble))
      .mul(pace)
      .frac()
      .mul(high - low)
      .add(low)
      .view({rows, columns});
}

struct Scan {
  mamba::StateSpace space = {numbers(5, 3, -1, 1, 0.6180), numbers(1, 5, -1, 1, 0.7548).view({5})};
  mamba::ScanInput input = {numbers(18, 5, -1, 1, 0.4142), numbers(18, 5, -3, 2, 0.7320),
                            numbers(18, 6, -1, 1, 0.2360), numbers(18, 5, -2, 2, 0.6457)};
  mamba::SharedPredecessors tokens = predecessors(2, 9, kMixed);
};

double difference(const at::Tensor& a, const at::Tensor& b) {
  return distance(doubles(a), doubles(b));
}

}  // namespace

TEST_CASE("mamba: a recurrence by doubling is the one of a loop", "[models][mamba]") {
  constexpr double kTolerance = 1e-14;  // sums of up to 13 terms below 1
  struct Case {
    int64_t rows;
    int64_t length;
    std::vector<int32_t> segments;
    int64_t longest;
  };
  const Case sizes =
      GENERATE(Case{1, 1, {}, 1}, Case{3, 2, {}, 2}, Case{2, 13, {}, 13}, Case{2, 9, kMixed, 6});
  const auto tokens = predecessors(sizes.rows, sizes.length, sizes.segments);
  CHECK(tokens->longest() == sizes.longest);
  const at::Tensor a = numbers(tokens->tokens(), 7, 0, 1, 0.6180).requires_grad_(true);
  const at::Tensor x = numbers(tokens->tokens(), 7, -1, 1, 0.4142).requires_grad_(true);
  const at::Tensor dy = numbers(tokens->tokens(), 7, -1, 1, 0.7548);
  const auto run = [&] {
    a.mutable_grad() = at::Tensor();
    x.mutable_grad() = at::Tensor();
    const at::Tensor s = mamba::linear_recurrence(a, x, tokens);
    s.backward(dy);
    return std::vector<at::Tensor>{s.detach(), a.grad(), x.grad()};
  };
  const std::vector<at::Tensor> wanted = run();
  const matrix::LibtorchAlone as_on_a_gpu;
  const std::vector<at::Tensor> found = run();
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(difference(found[i], wanted[i]) < kTolerance);
  }
}

TEST_CASE("mamba: a scan in slabs of channels is the scan of the kernels", "[models][mamba]") {
  constexpr double kTolerance = 1e-13;
  const Scan scan;
  const int64_t slab = GENERATE(1, 2 * 18 * 3, mamba::kSlabStates);  // one channel, two, all
  CHECK(difference(mamba::scan_by_slabs(scan.space, scan.input, scan.tokens, slab),
                   mamba::selective_scan(scan.space, scan.input, scan.tokens)) < kTolerance);
}

TEST_CASE("mamba: the backward of a scan in slabs is the one in one piece", "[models][mamba]") {
  constexpr double kTolerance = 1e-13;
  const Scan scan;
  const at::Tensor dy = numbers(18, 5, -1, 1, 0.3166);
  const auto run = [&](int64_t slab) {
    const mamba::SpaceGradients to = {at::zeros_like(scan.space.a_log),
                                      at::zeros_like(scan.space.skip)};
    const mamba::ScanInput made =
        mamba::scan_backward_by_slabs(scan.space, scan.input, scan.tokens, dy, to, slab);
    return std::vector<at::Tensor>{made.u, made.step, made.bc, made.gate, to.a_log, to.skip};
  };
  const std::vector<at::Tensor> wanted = run(mamba::kSlabStates);
  const std::vector<at::Tensor> found = run(GENERATE(1, 2 * 18 * 3));
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(wanted[i].abs().max().item<double>() > 0.01);
    CHECK(difference(found[i], wanted[i]) < kTolerance);
  }
}

TEST_CASE("mamba: libtorch alone, as on a GPU, gives the reference's numbers", "[models][mamba]") {
  need_host_memory();
  struct Case {
    quench_dtype dtype;
    double tolerance;  // those of the kernels
  };
  const auto [dtype, tolerance] = GENERATE(Case{kit::kFloat64, 1e-11}, Case{kit::kFloat32, 2e-5},
                                           Case{kit::kFloat16, 0.05}, Case{kit::kBFloat16, 0.4});
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name, kit::name_of(dtype));
  const MambaReference reference(name);
  ModelDriver driver(reference.config, reference.weights, dtype);
  const at::Tensor own = driver.forward(reference.tokens);
  const matrix::LibtorchAlone as_on_a_gpu;
  const at::Tensor h = driver.forward(reference.tokens, Storage::kShared);
  CHECK(distance(doubles(driver.logits(h)), reference.results.values("logits")) < tolerance);
  if (dtype.bits > 16) {  // another order of sums: it was not the kernels for processors
    CHECK_FALSE(identical(h, own));
  }
  CHECK(identical(h, driver.forward(reference.tokens)));
}

TEST_CASE("mamba: libtorch alone, as on a GPU, keeps pads and alternatives apart",
          "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));
  const std::vector<double> ids = reference.results.values("padded_ids");
  Tokens padded{1, 24, {ids.begin(), ids.end()}};
  padded.segments.assign(24, 0);
  std::fill(padded.segments.begin() + 16, padded.segments.end(), QUENCH_SEGMENT_ATTENDING_PADDING);
  Tokens packed = reference.first(9);
  packed.segments = kMixed;
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  const std::vector<double> wanted = doubles(driver.logits(driver.forward(packed)));
  const matrix::LibtorchAlone as_on_a_gpu;
  CHECK(distance(doubles(driver.logits(driver.forward(padded))),
                 reference.results.values("padded")) < 1e-11);
  CHECK(distance(doubles(driver.logits(driver.forward(packed))), wanted) < 1e-11);
}

TEST_CASE("mamba: libtorch alone, as on a GPU, gives the derivatives of differences",
          "[models][mamba]") {
  const matrix::LibtorchAlone as_on_a_gpu;
  const MambaReference reference(GENERATE("plain", "variant"));
  Tokens tokens = reference.first(9);
  differentiates(reference.config, reference.weights, tokens);
  has_curvature(reference.config, reference.weights, tokens);
  tokens.segments = kMixed;
  differentiates(reference.config, reference.weights, tokens);
  has_curvature(reference.config, reference.weights, tokens);
}

TEST_CASE("mamba: block by block it computes what it does as a whole", "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));
  const quench_dtype dtype = GENERATE(kit::kFloat64, kit::kBFloat16);
  ModelDriver whole(reference.config, reference.weights, dtype);
  const decoder::ByBlock by_block;
  ModelDriver visited(reference.config, reference.weights, dtype);
  const auto check = [&] {
    CHECK(identical(visited.forward(reference.tokens), whole.forward(reference.tokens)));
    CHECK(visited.next_id_nll(reference.tokens) == whole.next_id_nll(reference.tokens));
  };
  check();
  // The last block is there now, the first is not.
  for (const char* name : {"backbone.layers.1.mixer.A_log", "backbone.layers.0.mixer.A_log",
                           "backbone.layers.0.mixer.conv1d.weight"}) {
    const at::Tensor other = whole.weight(name, at::kDouble).mul(0.5);
    whole.set_weight(name, other);
    visited.set_weight(name, other);
  }
  check();
  const matrix::LibtorchAlone as_on_a_gpu;
  check();
}

TEST_CASE("mamba: block by block it has the gradient that it has as a whole", "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));  // one has a tied head
  const quench_dtype dtype = GENERATE(kit::kFloat64, kit::kFloat32);
  ModelDriver whole(reference.config, reference.weights, dtype);
  const decoder::ByBlock by_block;
  ModelDriver visited(reference.config, reference.weights, dtype);
  Tokens tokens = reference.first(9);
  same_gradient(whole, visited, tokens);
  tokens.segments = kMixed;
  const matrix::LibtorchAlone as_on_a_gpu;
  same_gradient(whole, visited, tokens);
}

TEST_CASE("mamba: block by block its products with the Hessian are those of differences",
          "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));
  Tokens tokens = reference.first(9);
  tokens.segments = kMixed;
  const decoder::ByBlock by_block;
  has_curvature(reference.config, reference.weights, tokens);
}

}  // namespace quench::test
