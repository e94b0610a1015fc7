// Steps of a training at a given shape: tokens a second, and the part of this machine's rate of
// matrix products that they reach.
//
//   bench_train_steps [SHAPE = quickstart] [STEPS = 30] [THREADS = 2] [PRECISION = float32]
//
// SHAPE: quickstart (3 layers × 96, 32 × 128 ids a step, bytes) or pythia-160m (12 × 768, 4 × 512
// ids, 50304 ids). QUENCH_ISA forces the instruction set. The loop is the one that runs, without
// what it writes: batches of ids, gradient, norm, clipping, AdamW. bench/peers/torch_train.py does
// the same in plain PyTorch.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "bench/support/timing.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"
#include "train/training_model.hpp"

namespace {

using namespace quench;

struct Shape {
  int layers;
  int width;
  int heads;
  int vocabulary;
  uint64_t batch;
  uint64_t length;
};

Shape shape_of(const std::string& name) {
  return name == "pythia-160m" ? Shape{12, 768, 12, 50304, 4, 512} : Shape{3, 96, 4, 256, 32, 128};
}

std::string config_of(const Shape& shape) {
  return nlohmann::json{{"model_type", "gpt_neox"},
                        {"hidden_size", shape.width},
                        {"intermediate_size", 4 * shape.width},
                        {"num_hidden_layers", shape.layers},
                        {"num_attention_heads", shape.heads},
                        {"vocab_size", shape.vocabulary},
                        {"max_position_embeddings", 2048},
                        {"hidden_act", "gelu"},
                        {"layer_norm_eps", 1e-5},
                        {"rotary_pct", 0.25},
                        {"rotary_emb_base", 10000},
                        {"use_parallel_residual", true},
                        {"attention_bias", true},
                        {"tie_word_embeddings", false},
                        {"initializer_range", 0.02}}
      .dump();
}

IdBatch batch_of(const Shape& shape, uint64_t seed) {
  IdBatch out;
  out.sequences = shape.batch;
  uint64_t state = seed * 2 + 1;
  for (uint64_t i = 0; i < shape.batch * shape.length; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.inputs.push_back(
        static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(shape.vocabulary)));
    out.targets.push_back(out.inputs.back());
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "quickstart";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 30;
  const char* set = std::getenv("QUENCH_ISA");
  const InstructionSet form =
      choose_instruction_set(set != nullptr ? std::optional<std::string>(set) : std::nullopt);
  bind_libraries_to(form);  // before a plugin loads libtorch
  HostServices::instance().set_instructions(form);
  HostServices::instance().set_threads(argc > 3 ? static_cast<uint32_t>(std::atoi(argv[3])) : 2);
  const Shape shape = shape_of(name);
  CatalogOptions options;
  options.search_path = {std::string(QUENCH_BINARY_DIR) + "/lib/quench"};
  options.self = std::string(QUENCH_BINARY_DIR) + "/bin/quench";
  Catalog catalog(options);
  TrainingRecipe recipe;
  recipe.family = &catalog.require("model", "gpt_neox");
  recipe.config = config_of(shape);
  recipe.optimizer.plugin = &catalog.require("optimizer", "adamw");
  std::vector<ParameterProblem> problems;
  recipe.optimizer.parameters =
      complete_parameters(*recipe.optimizer.plugin, nlohmann::json::object(), problems);
  recipe.batch = recipe.micro_batch = shape.batch;
  recipe.length = shape.length;
  recipe.clip = 1;
  recipe.peak = 1e-3;
  recipe.bfloat16 = argc > 4 && std::string(argv[4]) == "bfloat16";
  recipe.device = {QUENCH_DEVICE_CPU, 0};
  TrainingModel model(catalog, recipe);
  const double rate = model.product_rate().value_or(0);
  const auto tokens = static_cast<double>(recipe.tokens_per_step());

  std::vector<double> wall;
  std::vector<double> updates;
  std::vector<double> processor;
  for (int step = 1; step <= steps; ++step) {
    const IdBatch batch = batch_of(shape, static_cast<uint64_t>(step));
    const double start = bench::wall_clock();
    const double cpu = bench::processor_clock();
    model.accumulate(batch, 1 / tokens);
    const double between = bench::wall_clock();
    model.step(step, 1e-3);
    if (step > 3) {  // the first ones make buffers
      wall.push_back(bench::wall_clock() - start);
      updates.push_back(bench::wall_clock() - between);
      processor.push_back(bench::processor_clock() - cpu);
    }
  }
  std::sort(wall.begin(), wall.end());
  std::sort(updates.begin(), updates.end());
  std::sort(processor.begin(), processor.end());
  const double median = wall[wall.size() / 2];
  fmt::print("{}: {} parameters, {} steps of {} tokens\n", name, model.size(), steps, tokens);
  fmt::print(
      "step: median {:.1f} ms, best {:.1f} ms; cpu median {:.1f} ms, best {:.1f} ms; update "
      "{:.2f} ms\n",
      1e3 * median, 1e3 * wall.front(), 1e3 * processor[processor.size() / 2],
      1e3 * processor.front(), 1e3 * updates[updates.size() / 2]);
  fmt::print("tokens/s: median {:.0f}, best {:.0f}\n", tokens / median, tokens / wall.front());
  fmt::print("products {:.1f} GFLOP/s, MFU median {:.2f}, best {:.2f}\n", rate / 1e9,
             model.flops_per_token() * tokens / median / rate,
             model.flops_per_token() * tokens / wall.front() / rate);
}
