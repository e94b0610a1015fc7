// Operations of recorded forwards that have a backward of their own, beside libtorch's.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/rotary.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/test_host.hpp"

using quench::decoder::Angles;
using quench::decoder::AutogradMode;
using quench::decoder::AutogradScope;
using quench::test::HostThreads;

namespace {

struct Heads {
  explicit Heads(at::ScalarType type)
      : fused(at::randn({3, 37, 4, 72}, at::TensorOptions(type))),
        angles{at::randn({1, 37, 1, 5}, at::TensorOptions(type)),
               at::randn({1, 37, 1, 5}, at::TensorOptions(type))} {
    for (at::Tensor& dy : back) {
      dy = at::randn({3, 37, 4, 24}, at::TensorOptions(type));
    }
  }
  at::Tensor fused;
  Angles angles;
  std::array<at::Tensor, 3> back;  // the derivative by each part
};

// The parts, and the derivative by the fused heads.
struct Made {
  std::array<at::Tensor, 3> parts;
  at::Tensor gradient;
};

template <typename Split>
Made taken_apart(const Heads& heads, Split&& split) {
  const at::AutoGradMode recorded(true);
  const AutogradScope scope(AutogradMode::kTraining);
  const at::Tensor x = heads.fused.clone().requires_grad_(true);
  const std::array<at::Tensor, 3> parts = split(x);
  const auto gradients = torch::autograd::grad({parts[0], parts[1], parts[2]}, {x},
                                               {heads.back[0], heads.back[1], heads.back[2]});
  return {{parts[0].detach(), parts[1].detach(), parts[2].detach()}, gradients[0]};
}

}  // namespace

TEST_CASE("rotary: heads that are taken apart at once are those of a split", "[models][decoder]") {
  const Heads heads(GENERATE(at::kFloat, at::kDouble));
  const HostThreads threads(GENERATE(1u, 2u));
  const Made ours = taken_apart(
      heads, [&](const at::Tensor& x) { return quench::decoder::rotated_parts(x, heads.angles); });
  const Made theirs = taken_apart(heads, [&](const at::Tensor& x) -> std::array<at::Tensor, 3> {
    const std::vector<at::Tensor> parts = x.split(24, 3);
    return {quench::decoder::rotate(parts[0], heads.angles),
            quench::decoder::rotate(parts[1], heads.angles), parts[2]};
  });
  for (size_t i = 0; i < 3; ++i) {
    CHECK(ours.parts[i].equal(theirs.parts[i]));
  }
  CHECK(ours.gradient.equal(theirs.gradient));
}

TEST_CASE("rotary: outside of a scope queries and keys are rotated where they lie",
          "[models][decoder]") {
  const Heads heads(at::kFloat);
  const at::Tensor x = heads.fused.clone();
  const at::NoGradGuard constant;
  const auto parts = quench::decoder::rotated_parts(x, heads.angles);
  CHECK(parts[0].data_ptr() == x.data_ptr());
  const Made recorded = taken_apart(heads, [&](const at::Tensor& from) {
    return quench::decoder::rotated_parts(from, heads.angles);
  });
  for (size_t i = 0; i < 3; ++i) {
    CHECK(parts[i].equal(recorded.parts[i]));
  }
}

// Parts are linear in the fused heads, so the derivative of <dx, u> by dy are the parts of u.
TEST_CASE("rotary: the backward of heads taken apart can be differentiated", "[models][decoder]") {
  const Heads heads(at::kDouble);
  const at::AutoGradMode recorded(true);
  const AutogradScope scope(AutogradMode::kDoubleBackward);
  const at::Tensor x = heads.fused.clone().requires_grad_(true);
  const auto parts = quench::decoder::rotated_parts(x, heads.angles);
  std::vector<at::Tensor> dy;
  for (const at::Tensor& each : heads.back) {
    dy.push_back(each.clone().requires_grad_(true));
  }
  const auto dx = torch::autograd::grad({parts[0], parts[1], parts[2]}, {x}, dy,
                                        /*retain_graph=*/true, /*create_graph=*/true);
  const at::Tensor u = at::randn(x.sizes(), x.options());
  const auto along = torch::autograd::grad({dx[0]}, dy, {u});
  const auto wanted = quench::decoder::rotated_parts(u, heads.angles);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(along[i].equal(wanted[i].detach()));
  }
}

TEST_CASE("elementwise: a recorded sum is libtorch's, and so are its derivatives",
          "[models][decoder]") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const HostThreads threads(GENERATE(1u, 2u));
  const at::AutoGradMode recorded(true);
  const AutogradScope scope(
      GENERATE(AutogradMode::kTraining, AutogradMode::kDoubleBackward, AutogradMode::kComposed));
  const auto drawn = [&] { return at::randn({411, 333}, at::TensorOptions(type)); };
  const at::Tensor a = drawn().requires_grad_(true);
  const at::Tensor b = drawn().requires_grad_(true);
  const at::Tensor dy = drawn();
  const at::Tensor sum = quench::decoder::sum_of(a, b);
  CHECK(sum.detach().equal(a.detach().add(b.detach())));
  // One of the two is read again, so that derivatives are added up.
  const auto gradients = torch::autograd::grad({quench::decoder::sum_of(sum, a)}, {a, b}, {dy});
  CHECK(gradients[0].equal(dy.add(dy)));
  CHECK(gradients[1].equal(dy));
}
