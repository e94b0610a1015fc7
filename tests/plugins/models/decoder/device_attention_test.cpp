// Attention for GPUs, on tensors in host memory: values and derivatives against operations that
// libtorch differentiates itself.
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "models/decoder/device_attention.hpp"

namespace quench::test {

namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kHeads = 3;
constexpr int64_t kLength = 13;
constexpr int64_t kWidth = 4;

at::Tensor wave(double step, at::ScalarType type) {
  return at::arange(kRows * kHeads * kLength * kWidth, at::TensorOptions(at::kDouble))
      .mul(step)
      .sin()
      .view({kRows, kLength, kHeads, kWidth})
      .transpose(1, 2)
      .to(type)
      .requires_grad_(true);
}

at::Tensor causal() {
  return at::ones({1, 1, kLength, kLength}, at::TensorOptions(at::kBool)).tril();
}

// Two documents in each row, and in the second a query that sees nothing.
at::Tensor documents() {
  at::Tensor mask = causal().repeat({kRows, 1, 1, 1});
  mask.narrow(2, 6, kLength - 6).narrow(3, 0, 6).fill_(false);
  mask.narrow(0, 1, 1).narrow(2, 9, 1).fill_(false);
  return mask;
}

at::Tensor composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const at::Tensor& visible) {
  const at::Tensor hidden = visible.logical_not();
  const at::Tensor scores = q.matmul(k.transpose(2, 3))
                                .div(std::sqrt(static_cast<double>(kWidth)))
                                .masked_fill(hidden, -1e300);
  return scores.softmax(3).masked_fill(hidden, 0).matmul(v);
}

// y, and the derivatives of Σ dy y by q, k and v.
template <typename Attention>
std::vector<at::Tensor> differentiated(const Attention& attention, at::ScalarType type) {
  const std::vector<at::Tensor> of = {wave(0.7, type), wave(1.1, type), wave(1.9, type)};
  const at::Tensor y = attention(of[0], of[1], of[2]);
  const at::Tensor dy = wave(2.3, type).detach();
  torch::autograd::backward({y}, {dy});
  return {y.detach(), of[0].grad(), of[1].grad(), of[2].grad()};
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).sub(b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("device attention: values and derivatives are those of plain operations, in any slabs",
          "[models][decoder]") {
  const bool masked = GENERATE(false, true);
  // All heads at once; two at a time and then the rest; one by one.
  const int64_t scores = GENERATE(int64_t{1} << 26, 4 * kLength * kLength, int64_t{1});
  CAPTURE(masked, scores);
  const at::Tensor mask = masked ? documents() : at::Tensor();
  const auto own = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    return decoder::device_attention(q, k, v, mask, scores);
  };
  const auto plain = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    return composed(q, k, v, masked ? mask : causal());
  };
  const std::vector<at::Tensor> wanted = differentiated(plain, at::kDouble);
  const std::vector<at::Tensor> got = differentiated(own, at::kDouble);
  const std::vector<at::Tensor> narrow = differentiated(own, at::kFloat);
  for (size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i);
    if (i > 0 || !masked) {  // libtorch gives a query that sees nothing some value or none
      CHECK(distance(got[i], wanted[i]) < 1e-14);
      CHECK(distance(narrow[i], wanted[i]) < 1e-5);
    }
  }
}

}  // namespace quench::test
