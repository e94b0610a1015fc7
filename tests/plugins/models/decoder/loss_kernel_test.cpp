// The loss of logits as a kernel, run as loops in host memory and on a GPU.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "models/decoder/device/loss_rows.hpp"
#include "models/decoder/likelihoods.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test {

namespace {

constexpr double kFactor = 0.37;

struct Rows {
  at::Tensor logits;
  at::Tensor targets;
};

// Rows that are shorter and longer than a block has threads; peaks at the target and elsewhere.
Rows rows_of(int64_t columns) {
  Rows rows{at::randn({5, columns}).mul_(4), at::randint(columns, {5, 1}, at::kLong)};
  rows.logits[1][rows.targets[1].item<int64_t>()] = 60;
  rows.logits[2].fill_(-80);
  return rows;
}

struct Made {
  at::Tensor values;
  double loss;
};

Made made_on(at::Device device, const Rows& rows, bool differentiate) {
  const at::Tensor logits = rows.logits.to(device, at::kFloat, false, /*copy=*/true);
  decoder::LossSum loss;
  REQUIRE(decoder::make_by_kernel(logits, rows.targets.to(device), kFactor, differentiate, loss));
  return {logits.cpu(), loss.value()};
}

}  // namespace

TEST_CASE("loss: the kernel as loops gives the loss and its derivative", "[models][decoder]") {
  for (const int64_t columns : {2, 255, 257, 5003}) {
    CAPTURE(columns);
    const Rows rows = rows_of(columns);
    const at::Tensor logs = at::log_softmax(rows.logits.to(at::kDouble), 1);
    const double wanted = -logs.gather(1, rows.targets).sum().item<double>();
    at::Tensor derivative = logs.exp();
    derivative.scatter_add_(1, rows.targets,
                            at::zeros(rows.targets.sizes(), derivative.options()).sub_(1));
    derivative.mul_(kFactor);
    const Made made = made_on(at::kCPU, rows, true);
    CHECK(made.loss == Approx(wanted).epsilon(1e-6));
    CHECK(made.values.to(at::kDouble).sub(derivative).abs().max().item<double>() < 3e-7);
    const Made alone = made_on(at::kCPU, rows, false);
    CHECK(alone.loss == made.loss);
    CHECK(alone.values.equal(rows.logits));
  }
}

TEST_CASE("loss: the kernel has the same bits in either order of its threads",
          "[models][decoder]") {
  const Rows rows = rows_of(1009);
  at::Tensor bits[2];
  for (const cuda::Order order : {cuda::Order::kFirstToLast, cuda::Order::kLastToFirst}) {
    at::Tensor& out = bits[static_cast<int>(order)];
    out = rows.logits.clone();
    const at::Tensor sums = at::empty({5}, at::kDouble);
    const at::Tensor gaps = at::empty({5}, at::kFloat);
    const decoder::LossRows kernel{out.mutable_data_ptr<float>(),
                                   rows.targets.const_data_ptr<int64_t>(),
                                   sums.mutable_data_ptr<double>(),
                                   gaps.mutable_data_ptr<float>(),
                                   5,
                                   1009,
                                   1.0F,
                                   1};
    cuda::run_on_host(kernel, kernel.blocks(), order);
    out = at::cat({out.view({-1}), sums.to(at::kFloat), gaps});
  }
  CHECK(bits[0].equal(bits[1]));
}

TEST_CASE("loss: a logit that is NaN makes the loss NaN, one of -infinity does not",
          "[models][decoder]") {
  Rows rows = rows_of(300);
  rows.logits[0][7] = -std::numeric_limits<float>::infinity();
  rows.targets[0][0] = 8;
  CHECK(std::isfinite(made_on(at::kCPU, rows, true).loss));
  rows.logits[3][9] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor logits = rows.logits.clone();
  decoder::LossSum loss;
  REQUIRE(decoder::make_by_kernel(logits, rows.targets, kFactor, true, loss));
  CHECK_THROWS_WITH(loss.value(), Catch::Contains("the loss of the batch is"));
}

TEST_CASE("loss: other types and strides are left to libtorch", "[models][decoder]") {
  Rows rows = rows_of(10);
  decoder::LossSum loss;
  CHECK(!decoder::make_by_kernel(rows.logits.to(at::kDouble), rows.targets, 1, true, loss));
  CHECK(!decoder::make_by_kernel(rows.logits.t().contiguous().t(), rows.targets, 1, true, loss));
}

TEST_CASE("loss: on a GPU the kernel has the bits of its loops", "[models][decoder][cuda]") {
  const c10::Device gpu = gpu_or_skip();
  for (const int64_t columns : {2, 255, 257, 5003, 50304}) {
    for (const bool differentiate : {true, false}) {
      CAPTURE(columns, differentiate);
      const Rows rows = rows_of(columns);
      const Made wanted = made_on(at::kCPU, rows, differentiate);
      const Made got = made_on(gpu, rows, differentiate);
      CHECK(got.values.equal(wanted.values));
      CHECK(got.loss == Approx(wanted.loss).epsilon(1e-14));  // the logarithm is libtorch's
    }
  }
}

}  // namespace quench::test
