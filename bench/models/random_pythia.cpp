// Writes a GPT-NeoX model of Pythia-160M's shape with random float32 weights as a Hugging Face
// folder (config.json, model.safetensors), and token ids for it (tokens.safetensors, tensor `ids`).
//
//   random_pythia FOLDER [rows of ids = 16] [ids a row = 2048] [seed = 0]
//
// Weights and biases are normal with deviation 0.02, scales of norms 1 + normal with deviation
// 0.05, ids uniform. 0.65 GB. The bytes depend on the arguments and on nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"

namespace {

constexpr int64_t kBlocks = 12;
constexpr int64_t kWidth = 768;
constexpr int64_t kInner = 3072;
constexpr int64_t kVocabulary = 50304;

constexpr std::string_view kConfig = R"({
  "architectures": ["GPTNeoXForCausalLM"],
  "attention_bias": true,
  "bos_token_id": 0,
  "eos_token_id": 0,
  "hidden_act": "gelu",
  "hidden_size": 768,
  "initializer_range": 0.02,
  "intermediate_size": 3072,
  "layer_norm_eps": 1e-05,
  "max_position_embeddings": 2048,
  "model_type": "gpt_neox",
  "num_attention_heads": 12,
  "num_hidden_layers": 12,
  "rotary_emb_base": 10000,
  "rotary_pct": 0.25,
  "tie_word_embeddings": false,
  "torch_dtype": "float32",
  "use_cache": true,
  "use_parallel_residual": true,
  "vocab_size": 50304
}
)";

// SplitMix64 (Steele et al. 2014) and normal values by Box and Muller's method. The standard
// library's distributions are not the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In (0, 1].
  double uniform() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }
  // Two independent values.
  std::pair<double, double> normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * 3.14159265358979323846 * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  uint64_t state_;
};

struct Weight {
  std::string name;
  std::vector<int64_t> shape;
  double mean = 0;
  double deviation = 0.02;
};

std::vector<Weight> weights() {
  std::vector<Weight> list;
  const auto linear = [&list](const std::string& name, int64_t out, int64_t in) {
    list.push_back({name + ".weight", {out, in}});
    list.push_back({name + ".bias", {out}});
  };
  const auto norm = [&list](const std::string& name) {
    list.push_back({name + ".weight", {kWidth}, 1, 0.05});
    list.push_back({name + ".bias", {kWidth}});
  };
  list.push_back({"gpt_neox.embed_in.weight", {kVocabulary, kWidth}});
  for (int64_t i = 0; i < kBlocks; ++i) {
    const std::string at = fmt::format("gpt_neox.layers.{}.", i);
    norm(at + "input_layernorm");
    norm(at + "post_attention_layernorm");
    linear(at + "attention.query_key_value", 3 * kWidth, kWidth);
    linear(at + "attention.dense", kWidth, kWidth);
    linear(at + "mlp.dense_h_to_4h", kInner, kWidth);
    linear(at + "mlp.dense_4h_to_h", kWidth, kInner);
  }
  norm("gpt_neox.final_layer_norm");
  list.push_back({"embed_out.weight", {kVocabulary, kWidth}});
  return list;
}

void write_weights(const std::filesystem::path& path, uint64_t seed) {
  // transformers wants to be told whose tensors these are
  quench::SafetensorsWriter writer(path, {{"format", "pt"}});
  const std::vector<Weight> list = weights();
  for (const Weight& weight : list) {
    writer.declare({weight.name, quench::kFloat32, weight.shape, 0});
  }
  Random random(seed);
  std::vector<float> chunk;
  for (const Weight& weight : list) {
    for (uint64_t left = *quench::element_count(weight.shape); left > 0; left -= chunk.size()) {
      chunk.resize(std::min<uint64_t>(left, 1 << 20));  // every shape here is even
      for (size_t i = 0; i < chunk.size(); i += 2) {
        const auto [a, b] = random.normal();
        chunk[i] = static_cast<float>(weight.mean + weight.deviation * a);
        chunk[i + 1] = static_cast<float>(weight.mean + weight.deviation * b);
      }
      writer.write(chunk.data(), chunk.size() * sizeof(float));
    }
  }
  writer.finish();
}

void write_ids(const std::filesystem::path& path, int64_t rows, int64_t length, uint64_t seed) {
  quench::SafetensorsWriter writer(path);
  writer.declare({"ids", quench::kInt32, {rows, length}, 0});
  Random random(seed + 1);
  std::vector<int32_t> ids(static_cast<size_t>(rows * length));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random.bits() % static_cast<uint64_t>(kVocabulary));
  }
  writer.write(ids.data(), ids.size() * sizeof(int32_t));
  writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || *argv[1] == '-') {
    fmt::print(stderr, "usage: random_pythia FOLDER [ROWS=16] [LENGTH=2048] [SEED=0]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const int64_t rows = argc > 2 ? std::atoll(argv[2]) : 16;
  const int64_t length = argc > 3 ? std::atoll(argv[3]) : 2048;
  const uint64_t seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0;
  try {
    std::filesystem::create_directories(folder);
    quench::write_file_atomically(folder / "config.json", kConfig);
    write_weights(folder / "model.safetensors", seed);
    write_ids(folder / "tokens.safetensors", rows, length, seed);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
