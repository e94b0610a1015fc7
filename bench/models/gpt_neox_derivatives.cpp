// Gradient and product with the Hessian of GPT-NeoX models with drawn weights: seconds, tokens a
// second, and the arithmetic that both need as a part of what the matrix product that they use
// reaches in the same run.
//
//   bench_gpt_neox_derivatives [SHAPE = small] [rows = 8] [tokens a row = 64] [threads = 2]
//                              [rounds = 5]
//
// SHAPE: small (0.55 million parameters), bytes (3 blocks of width 96, vocabulary 256) or
// pythia_160m.
#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "quench/abi/extension/gradients.h"
#include "quench/kit/tensor.hpp"
#include "shared/matrix/product.hpp"
#include "tests/plugins/models/model_driver.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/test_host.hpp"

namespace {

using quench::test::ModelDriver;
using quench::test::Tokens;

struct Shape {
  int64_t blocks, width, heads, inner, vocabulary;
};

Shape shape_of(const std::string& name) {
  if (name == "pythia_160m") {
    return {12, 768, 12, 3072, 50304};
  }
  return name == "bytes" ? Shape{3, 96, 6, 384, 256} : Shape{4, 96, 6, 384, 512};
}

// Of the processor on one thread, where a busy machine does not count; else of the clock.
double now() {
  if (quench::kit::thread_count() == 1) {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Body>
double seconds(Body&& body) {
  const double start = now();
  body();
  return now() - start;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "small";
  const Shape shape = shape_of(name);
  const int64_t rows = argc > 2 ? std::atoll(argv[2]) : 8;
  const int64_t length = argc > 3 ? std::atoll(argv[3]) : 64;
  at::set_num_threads(1);  // as in the host
  const quench::test::HostThreads threads(static_cast<uint32_t>(argc > 4 ? std::atoi(argv[4]) : 2));
  const int rounds = argc > 5 ? std::atoi(argv[5]) : 5;
  const nlohmann::json config = {
      {"model_type", "gpt_neox"},         {"num_hidden_layers", shape.blocks},
      {"hidden_size", shape.width},       {"num_attention_heads", shape.heads},
      {"intermediate_size", shape.inner}, {"vocab_size", shape.vocabulary},
      {"max_position_embeddings", 65536}};
  ModelDriver driver(config.dump(), quench::kit::kFloat32, {QUENCH_DEVICE_CPU, 0});
  Tokens tokens{rows, length, {}};
  for (int64_t i = 0; i < rows * length; ++i) {
    tokens.ids.push_back(static_cast<int32_t>(i * 7919 % shape.vocabulary));
  }
  const std::vector<int32_t> targets = quench::test::next_ids(tokens);
  const int64_t parameters = driver.parameters().numel();
  const at::Tensor vector = at::zeros({parameters}, at::TensorOptions(at::kFloat));
  const at::Tensor direction = at::ones_like(vector).div_(static_cast<double>(parameters));
  const auto n = static_cast<double>(rows * length);
  const at::Tensor a = at::ones({rows * length, shape.width}, at::TensorOptions(at::kFloat));
  const at::Tensor b = at::ones({shape.width, shape.inner}, at::TensorOptions(at::kFloat));

  double gradient = 1e9;
  double open = 1e9;
  double both = 1e9;
  double product = 1e9;
  constexpr int kProducts = 4;
  for (int round = 0; round < rounds; ++round) {  // interleaved, so that a busy machine hits all
    gradient = std::min(gradient, seconds([&] { driver.gradient(tokens, targets, vector); }));
    const auto products = [&](int count) {
      driver.products(tokens, targets, QUENCH_CURVATURE_HESSIAN,
                      std::vector<at::Tensor>(static_cast<size_t>(count), direction));
    };
    open = std::min(open, seconds([&] { products(0); }));
    both = std::min(both, seconds([&] { products(kProducts); }));
    product = std::min(product, seconds([&] {
                         for (int i = 0; i < 10; ++i) {
                           quench::matrix::product(a, b);
                         }
                       }));
  }
  const double flop = 2.0 * n *
                      static_cast<double>(shape.blocks * (4 * shape.width * shape.width +
                                                          2 * shape.width * shape.inner) +
                                          shape.vocabulary * shape.width);
  const double rate = 20.0 * n * static_cast<double>(shape.width * shape.inner) / product;
  const double hessian = (both - open) / kProducts;
  std::printf("%s, %lld parameters, %lld x %lld tokens, %d threads; product %.1f GFLOP/s\n",
              name.c_str(), static_cast<long long>(parameters), static_cast<long long>(rows),
              static_cast<long long>(length), static_cast<int>(quench::kit::thread_count()),
              rate / 1e9);
  std::printf("gradient %.4f s, %.0f tokens/s, ratio %.2f\n", gradient, n / gradient,
              3.0 * flop / gradient / rate);
  std::printf("Hessian: open %.4f s, product %.4f s, ratio %.2f\n", open, hessian,
              6.0 * flop / hessian / rate);
  return 0;
}
