// The pieces between a decoder's products beside libtorch's own, same shapes, same number of
// threads, in turns in one run: milliseconds, best of `rounds`.
//
//   bench_decoder_pieces [threads = 2] [rounds = 7]
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tril.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "models/decoder/activation.hpp"
#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/blocked_attention.hpp"
#include "models/decoder/layer_norm.hpp"
#include "models/decoder/likelihoods.hpp"
#include "tests/support/host_threads.hpp"

namespace {

using quench::decoder::AutogradMode;
using quench::decoder::AutogradScope;

int rounds = 7;

double milliseconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void compare(const char* name, const std::function<void()>& theirs,
             const std::function<void()>& ours) {
  double best[2] = {1e9, 1e9};
  for (int i = 0; i < rounds; ++i) {
    best[0] = std::min(best[0], milliseconds(theirs));
    best[1] = std::min(best[1], milliseconds(ours));
  }
  std::printf("%-42s libtorch %8.3f   ours %8.3f   ratio %.2f\n", name, best[0], best[1],
              best[0] / best[1]);
}

void compare_attention(int64_t length, const at::Tensor& mask, const char* name) {
  const auto drawn = [&] { return at::randn({1, length, 12, 64}).requires_grad_(true); };
  const at::Tensor q = drawn();
  const at::Tensor k = drawn();
  const at::Tensor v = drawn();
  const at::Tensor dy = at::randn({1, length, 12, 64});
  const auto theirs = [&] {
    return at::scaled_dot_product_attention(
               q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
               mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt, 0.0,
               !mask.defined())
        .transpose(1, 2);
  };
  const auto ours = [&] { return quench::decoder::blocked_attention(q, k, v, mask); };
  char line[64];
  {
    const at::NoGradGuard constant;
    std::snprintf(line, sizeof line, "%s, %lld tokens", name, static_cast<long long>(length));
    compare(
        line, [&] { theirs(); }, [&] { ours(); });
  }
  std::snprintf(line, sizeof line, "%s with backward, %lld", name, static_cast<long long>(length));
  compare(
      line,
      [&] {
        torch::autograd::grad({theirs()}, {q, k, v}, {dy});
      },
      [&] {
        torch::autograd::grad({ours()}, {q, k, v}, {dy});
      });
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  at::set_num_threads(threads);
  const quench::test::HostThreads host(static_cast<uint32_t>(threads));
  std::printf("%d threads\n", threads);
  const at::Tensor wide = at::randn({2048, 3072});
  const at::Tensor other = at::randn({2048, 3072});
  const at::Tensor narrow = at::randn({2048, 768});
  const at::Tensor weight = at::randn({768});
  {
    const at::NoGradGuard constant;
    at::Tensor a = wide.clone();
    at::Tensor b = other.clone();
    compare(
        "gelu [2048, 3072]", [&] { at::gelu_(a); }, [&] { quench::decoder::gelu(b); });
    compare(
        "silu, gate [2048, 3072]", [&] { b.mul_(at::silu_(a)); },
        [&] { quench::decoder::gated(a, b); });
    compare(
        "layer norm [2048, 768]", [&] { at::layer_norm(narrow, {768}, weight, weight, 1e-5); },
        [&] { quench::decoder::layer_norm(narrow, weight, weight, 1e-5); });
    const at::Tensor logits = at::randn({256, 50304});
    const at::Tensor ids = at::randint(50304, {256, 1}, at::TensorOptions(at::kLong));
    const at::Tensor held = logits.clone();
    compare(
        "softmax, loss, derivative [256, 50304]",
        [&] {
          at::Tensor values = at::log_softmax(logits, 1);
          values.gather(1, ids);
          values.exp_().scatter_add_(1, ids, values.new_full({256, 1}, -1.0)).mul_(0.5);
        },
        [&] {
          quench::decoder::make_likelihoods(held, ids);
          quench::decoder::make_gradient(held, ids, 0.5);
        });
  }
  {
    const at::Tensor x = wide.clone().requires_grad_(true);
    compare(
        "gelu and its backward [2048, 3072]",
        [&] { torch::autograd::grad({at::gelu(x)}, {x}, {other}); },
        [&] {
          const AutogradScope scope(AutogradMode::kTraining);
          torch::autograd::grad({quench::decoder::gelu(x)}, {x}, {other});
        });
    const at::Tensor y = narrow.clone().requires_grad_(true);
    const at::Tensor dy = at::randn({2048, 768});
    compare(
        "layer norm and its backward [2048, 768]",
        [&] { torch::autograd::grad({at::layer_norm(y, {768}, weight, weight, 1e-5)}, {y}, {dy}); },
        [&] {
          const AutogradScope scope(AutogradMode::kTraining);
          torch::autograd::grad({quench::decoder::layer_norm(y, weight, weight, 1e-5)}, {y}, {dy});
        });
  }
  for (const int64_t length : {512, 2048}) {
    const at::Tensor mask = at::ones({1, 1, length, length}, at::TensorOptions(at::kBool)).tril();
    compare_attention(length, {}, "causal attention");
    compare_attention(length, mask, "masked attention");
  }
}
