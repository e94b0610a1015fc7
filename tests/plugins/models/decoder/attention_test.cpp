// Attention against plain loops.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "models/decoder/attention.hpp"
#include "models/decoder/blocked_attention.hpp"
#include "quench/abi/kind/model.h"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/comparison.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

at::Tensor wave(int64_t heads, double step) {
  return at::arange(2 * 7 * heads * 4, at::TensorOptions(at::kDouble))
      .mul(step)
      .sin()
      .view({2, 7, heads, 4});
}

// The rule of quench_batch, word for word; padding sees itself, a pad that reads does not.
bool sees(const std::vector<int32_t>& segments, int64_t row, int64_t query, int64_t key) {
  const auto segment = [&](int64_t t) {
    return segments.empty() ? 0 : segments[static_cast<size_t>(row * 7 + t)];
  };
  if (segment(query) == QUENCH_SEGMENT_ATTENDING_PADDING) {
    return key < query && segment(key) == 0;
  }
  if (query == key) {
    return true;
  }
  return key < query && segment(query) >= 0 && segment(key) >= 0 &&
         (segment(key) == 0 || segment(key) == segment(query));
}

std::vector<double> by_loops(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const std::vector<int32_t>& segments) {
  const int64_t heads = q.size(2);
  const int64_t share = heads / k.size(2);
  const auto at = [](const at::Tensor& x, int64_t b, int64_t t, int64_t h, int64_t d) {
    return x.const_data_ptr<double>()[((b * 7 + t) * x.size(2) + h) * 4 + d];
  };
  std::vector<double> out;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t t = 0; t < 7; ++t) {
      for (int64_t h = 0; h < heads; ++h) {
        double sums[4] = {};
        double total = 0.0;
        for (int64_t s = 0; s < 7; ++s) {
          if (sees(segments, b, t, s)) {
            double score = 0.0;
            for (int64_t d = 0; d < 4; ++d) {
              score += at(q, b, t, h, d) * at(k, b, s, h / share, d) / 2.0;
            }
            total += std::exp(score);
            for (int64_t d = 0; d < 4; ++d) {
              sums[d] += std::exp(score) * at(v, b, s, h / share, d);
            }
          }
        }
        for (const double sum : sums) {
          out.push_back(sum / total);
        }
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("attention: every segment rule is that of plain loops", "[models][decoder]") {
  const int64_t key_heads = GENERATE(6, 2, 1);
  const std::vector<int32_t> segments =
      GENERATE(std::vector<int32_t>{}, std::vector<int32_t>(14, 0), std::vector<int32_t>(14, 3),
               std::vector<int32_t>{1, 1, 1, 2, 2, 2, 2, 5, 4, 3, 2, 1, 6, 0},
               std::vector<int32_t>{0, 0, 1, 1, 2, 2, 3, 0, 0, 0, 0, 0, 0, 1},
               std::vector<int32_t>{0, 0, 0, 0, -2, -2, -2, 0, -2, -2, 0, 1, 0, -2},
               std::vector<int32_t>{-1, -1, 1, 1, 1, 1, -1, 1, 2, 1, 2, 0, 1, 2});
  const at::Tensor q = wave(6, 0.7);
  const at::Tensor k = wave(key_heads, 1.1);
  const at::Tensor v = wave(key_heads, 1.9);
  std::vector<int32_t> ids(14, 0);
  const int64_t shape[] = {2, 7};
  const quench_device cpu = {QUENCH_DEVICE_CPU, 0};
  const quench_tensor tokens = {ids.data(), cpu, 2, kit::kInt32, shape, nullptr, 0};
  const quench_tensor marks = {
      const_cast<int32_t*>(segments.data()), cpu, 2, kit::kInt32, shape, nullptr, 0};
  const quench_batch batch = {sizeof batch, 0, &tokens, nullptr,
                              segments.empty() ? nullptr : &marks};
  const at::Tensor out = decoder::attend(q, k, v, decoder::Batch(&batch, 7));
  CHECK(out.sizes() == at::IntArrayRef({14, 24}));
  CHECK(distance(doubles(out), by_loops(q, k, v, segments)) < 1e-13);
}

TEST_CASE("attention: masked rows of 300 tokens have one result for every type and thread",
          "[models][decoder]") {
  const int64_t length = 300;  // three blocks of queries
  const at::TensorOptions options(at::kDouble);
  const auto drawn = [&](int64_t heads, double step) {
    return at::arange(length * heads * 8, options).mul(step).sin().view({1, length, heads, 8});
  };
  const at::Tensor q = drawn(4, 0.7);
  const at::Tensor k = drawn(2, 1.1);
  const at::Tensor v = drawn(2, 1.9);
  at::Tensor mask = at::ones({1, 1, length, length}, at::TensorOptions(at::kBool)).tril();
  mask.narrow(2, 150, 150).narrow(3, 20, 100).fill_(false);
  const at::Tensor scores =
      at::matmul(q.transpose(1, 2), at::repeat_interleave(k, 2, 2).transpose(1, 2).transpose(2, 3))
          .mul(1 / std::sqrt(8.0))
          .masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
  const at::Tensor wanted =
      at::matmul(at::softmax(scores, -1), at::repeat_interleave(v, 2, 2).transpose(1, 2))
          .transpose(1, 2);
  const at::Tensor exact = decoder::blocked_attention(q, k, v, mask);
  CHECK(distance(doubles(exact), doubles(wanted.contiguous())) < 1e-13);
  for (const auto& [type, tolerance] :
       {std::pair(at::kFloat, 1e-5), std::pair(at::kBFloat16, 0.02), std::pair(at::kHalf, 0.003)}) {
    const auto run = [&, type = type] {
      return decoder::blocked_attention(q.to(type), k.to(type), v.to(type), mask);
    };
    const at::Tensor one = run();
    CHECK(one.scalar_type() == type);
    CHECK(distance(doubles(one.to(at::kDouble)), doubles(wanted.contiguous())) < tolerance);
    const HostThreads three(3);
    CHECK(run().equal(one));
  }
}

// libtorch's own operations in float64 are the witness.
TEST_CASE(
    "attention: derivatives of 300 tokens are right for every type, and have one order of sums",
    "[models][decoder]") {
  const int64_t length = 300;  // three blocks of queries
  const int64_t width = GENERATE(8, 24, 40);
  const bool masked = GENERATE(false, true);
  const double cap = GENERATE(0.0, 2.0);
  CAPTURE(width, masked, cap);
  const auto drawn = [&](int64_t heads, double step) {
    return at::arange(2 * length * heads * width, at::TensorOptions(at::kDouble))
        .mul(step)
        .sin()
        .mul(1.5)
        .view({2, length, heads, width});
  };
  const std::array<at::Tensor, 3> inputs = {drawn(4, 0.7), drawn(2, 1.1), drawn(2, 1.9)};
  const at::Tensor dy = drawn(4, 0.37);
  at::Tensor sees = at::ones({2, 1, length, length}, at::TensorOptions(at::kBool)).tril();
  if (masked) {
    sees.narrow(0, 1, 1).narrow(2, 150, 150).narrow(3, 20, 100).fill_(false);
  }
  const at::AutoGradMode recorded(true);
  const auto made = [&](at::ScalarType type, auto&& attend) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& x : inputs) {
      leaves.push_back(x.to(type, /*non_blocking=*/false, /*copy=*/true).requires_grad_(true));
    }
    const at::Tensor y = attend(leaves[0], leaves[1], leaves[2]);
    std::vector<at::Tensor> all = torch::autograd::grad({y}, leaves, {dy.to(type)});
    all.push_back(y.detach());
    return all;
  };
  const auto theirs = made(at::kDouble, [&](const auto& q, const auto& k, const auto& v) {
    const auto by_head = [](const at::Tensor& x) { return x.transpose(1, 2); };
    at::Tensor scores =
        at::matmul(by_head(q), at::repeat_interleave(by_head(k), 2, 1).transpose(2, 3))
            .div(std::sqrt(static_cast<double>(width)));
    scores = cap > 0 ? scores.div(cap).tanh().mul(cap) : scores;
    scores = scores.masked_fill(sees.logical_not(), -std::numeric_limits<double>::infinity());
    return by_head(at::matmul(at::softmax(scores, -1), at::repeat_interleave(by_head(v), 2, 1)));
  });
  const at::Tensor mask = masked ? sees : at::Tensor();
  const auto ours = [&](const auto& q, const auto& k, const auto& v) {
    return decoder::blocked_attention(q, k, v, mask, cap);
  };
  for (const auto& [type, tolerance] :
       {std::pair(at::kDouble, 1e-12), std::pair(at::kFloat, 2e-5)}) {
    std::vector<std::vector<at::Tensor>> forms;
    for (const int32_t instructions : available_instructions()) {
      const UseInstructions form(instructions);
      forms.push_back(made(type, ours));
      for (size_t i = 0; i < theirs.size(); ++i) {
        CAPTURE(i, instructions);
        CHECK(distance(doubles(forms.back()[i].to(at::kDouble)), doubles(theirs[i].contiguous())) <
              tolerance);
      }
      const HostThreads three(3);
      const auto again = made(type, ours);
      for (size_t i = 0; i < again.size(); ++i) {
        CHECK(again[i].equal(forms.back()[i]));
      }
    }
    if (available_instructions().back() >= QUENCH_INSTRUCTIONS_AVX512) {
      for (size_t i = 0; i < theirs.size(); ++i) {  // AVX-512 and AVX2
        CHECK(forms[forms.size() - 1][i].equal(forms[forms.size() - 2][i]));
      }
    }
  }
}

TEST_CASE("attention: a pad that attends to no text is refused", "[models][decoder]") {
  std::vector<int32_t> ids(14, 0);
  std::vector<int32_t> segments(14, 0);
  segments[7] = QUENCH_SEGMENT_ATTENDING_PADDING;  // the first of the second row
  const int64_t shape[] = {2, 7};
  const quench_device cpu = {QUENCH_DEVICE_CPU, 0};
  const quench_tensor tokens = {ids.data(), cpu, 2, kit::kInt32, shape, nullptr, 0};
  const quench_tensor marks = {segments.data(), cpu, 2, kit::kInt32, shape, nullptr, 0};
  const quench_batch batch = {sizeof batch, 0, &tokens, nullptr, &marks};
  CHECK_THROWS_WITH(decoder::Batch(&batch, 7), Catch::Contains("row 1, column 0"));
}

}  // namespace quench::test
