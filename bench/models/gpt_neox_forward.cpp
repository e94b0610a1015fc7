// Forward of a model of Pythia-160M's shape with random weights: tokens a second, and its rate of
// arithmetic as a part of what the product that it uses reaches in the same run, on one thread.
//
//   bench_gpt_neox_forward [tokens a row = 2048] [threads = 2] [dtype = float32] [rounds = 5]
#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "quench/kit/tensor.hpp"
#include "shared/matrix/product.hpp"
#include "tests/plugins/models/model_driver.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/test_host.hpp"

namespace {

using quench::test::ModelDriver;
using quench::test::Tokens;

constexpr int64_t kBlocks = 12;
constexpr int64_t kWidth = 768;
constexpr int64_t kInner = 3072;
constexpr int64_t kVocabulary = 50304;

// Float32 tensors of a causal GPT-NeoX model whose elements are made as they are read.
class RandomSource {
 public:
  RandomSource() {
    add("gpt_neox.embed_in.weight", {kVocabulary, kWidth});
    add("embed_out.weight", {kVocabulary, kWidth});
    norm("gpt_neox.final_layer_norm");
    for (int64_t i = 0; i < kBlocks; ++i) {
      const std::string at = "gpt_neox.layers." + std::to_string(i) + ".";
      norm(at + "input_layernorm");
      norm(at + "post_attention_layernorm");
      linear(at + "attention.query_key_value", 3 * kWidth, kWidth);
      linear(at + "attention.dense", kWidth, kWidth);
      linear(at + "mlp.dense_h_to_4h", kInner, kWidth);
      linear(at + "mlp.dense_4h_to_h", kWidth, kInner);
    }
    source_ = {sizeof source_, this, count, info, nullptr, read};
  }
  const quench_source* get() const { return &source_; }

 private:
  struct Entry {
    std::string name;
    std::vector<int64_t> shape;
  };
  void add(const std::string& name, std::vector<int64_t> shape) {
    entries_.push_back({name, std::move(shape)});
  }
  void norm(const std::string& name) { linear(name, kWidth, 0); }
  void linear(const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", in > 0 ? std::vector<int64_t>{out, in} : std::vector<int64_t>{out});
    add(name + ".bias", {out});
  }
  static const RandomSource& self(const quench_source* source) {
    return *static_cast<const RandomSource*>(source->context);
  }
  static uint64_t count(const quench_source* source) noexcept {
    return self(source).entries_.size();
  }
  static quench_status info(const quench_source* source, uint64_t index, quench_tensor_info* found,
                            quench_error*) noexcept {
    const Entry& entry = self(source).entries_[index];
    *found = {sizeof *found,         entry.name.c_str(),
              quench::kit::kFloat32, static_cast<int32_t>(entry.shape.size()),
              entry.shape.data(),    index};
    return QUENCH_OK;
  }
  static quench_status read(const quench_source*, uint64_t index, uint64_t first, uint64_t elements,
                            void* destination, quench_error*) noexcept {
    auto* values = static_cast<float*>(destination);
    uint64_t state = index * 0x9E3779B97F4A7C15u + first;
    for (uint64_t i = 0; i < elements; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      values[i] = (static_cast<float>(state >> 40) / 8388608.0f - 1.0f) * 0.05f;
    }
    return QUENCH_OK;
  }

  std::vector<Entry> entries_;
  quench_source source_{};
};

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
  const int64_t length = argc > 1 ? std::atoll(argv[1]) : 2048;
  at::set_num_threads(1);  // as in the host
  const quench::test::HostThreads threads(static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 2));
  const bool half = argc > 3 && std::strcmp(argv[3], "bfloat16") == 0;
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 5;
  const std::string config =
      R"({"model_type": "gpt_neox", "num_hidden_layers": 12, "hidden_size": 768,
          "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50304,
          "max_position_embeddings": 65536})";
  const RandomSource source;
  ModelDriver driver(config, source.get(), half ? quench::kit::kBFloat16 : quench::kit::kFloat32,
                     {QUENCH_DEVICE_CPU, 0});
  Tokens tokens{1, length, {}};
  for (int64_t i = 0; i < length; ++i) {
    tokens.ids.push_back(static_cast<int32_t>(i * 7919 % kVocabulary));
  }
  const auto type = half ? at::kBFloat16 : at::kFloat;
  const at::Tensor a = at::ones({length, kWidth}, at::TensorOptions(type));
  const at::Tensor b = at::ones({kWidth, kInner}, at::TensorOptions(type));

  double blocks = 1e9;
  double head = 1e9;
  double product = 1e9;
  for (int round = 0; round < rounds; ++round) {  // interleaved, so that a busy machine hits all
    at::Tensor h;
    const auto storage = quench::test::Storage::kShared;
    blocks = std::min(blocks, seconds([&] { h = driver.forward(tokens, storage); }));
    head = std::min(head, seconds([&] { driver.nll(h, tokens.ids); }));
    product = std::min(product, seconds([&] {
                         for (int i = 0; i < 10; ++i) {
                           quench::matrix::product(a, b);
                         }
                       }));
  }
  const auto n = static_cast<double>(length);
  const double linear_flop =
      2.0 * n * static_cast<double>(kBlocks * (4 * kWidth * kWidth + 2 * kWidth * kInner));
  const double attention_flop = 2.0 * n * n * static_cast<double>(kBlocks * kWidth);  // causal
  const double head_flop = 2.0 * n * static_cast<double>(kVocabulary * kWidth);
  const double product_rate = 20.0 * n * static_cast<double>(kWidth * kInner) / product;
  const double rate = (linear_flop + attention_flop + head_flop) / (blocks + head);
  std::printf("tokens %lld  blocks %.3f s (%.1f GFLOP/s)  head %.3f s (%.1f GFLOP/s)\n",
              static_cast<long long>(length), blocks, (linear_flop + attention_flop) / blocks / 1e9,
              head, head_flop / head / 1e9);
  std::printf("%.0f tokens/s  %.1f GFLOP/s  product %.1f GFLOP/s  ratio %.2f\n",
              n / (blocks + head), rate / 1e9, product_rate / 1e9, rate / product_rate);
  return 0;
}
