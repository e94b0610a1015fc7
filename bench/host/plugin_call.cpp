// What a call across the plugin boundary costs, by the raw table and by the host's handle, beside a
// call through a pointer within this program. `of_100ns` is the time as a part of 100 ns.
#include <benchmark/benchmark.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/catalog.hpp"
#include "core/plugin/model_handle.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/support/memory_source.hpp"

namespace {

constexpr const char* kWeight = "gpt_neox.layers.0.mlp.dense_h_to_4h.weight";
constexpr int64_t kWidth = 16;

// The smallest model of the gpt_neox family, open through the catalog; lives as long as the
// process.
class OpenModel {
 public:
  OpenModel() : catalog_(options()) {
    add("gpt_neox.embed_in.weight", {16, kWidth});
    add("embed_out.weight", {16, kWidth});
    add_pair("gpt_neox.final_layer_norm", {kWidth});
    const std::string block = "gpt_neox.layers.0.";
    add_pair(block + "input_layernorm", {kWidth});
    add_pair(block + "post_attention_layernorm", {kWidth});
    add_pair(block + "attention.query_key_value", {3 * kWidth, kWidth});
    add_pair(block + "attention.dense", {kWidth, kWidth});
    add_pair(block + "mlp.dense_h_to_4h", {4 * kWidth, kWidth});
    add_pair(block + "mlp.dense_4h_to_h", {kWidth, 4 * kWidth});
    const std::string config =
        R"({"model_type": "gpt_neox", "num_hidden_layers": 1, "hidden_size": 16,
            "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 16,
            "max_position_embeddings": 16})";
    const quench_model_open_args args = {sizeof args,          0,
                                         source_.source(),     config.data(),
                                         config.size(),        {QUENCH_DEVICE_CPU, 0},
                                         quench::kit::kFloat32};
    model_.emplace(
        quench::ModelHandle::open(catalog_, catalog_.require("model", "gpt_neox"), args));
  }
  const quench::ModelHandle& handle() const { return *model_; }

 private:
  static quench::CatalogOptions options() {
    quench::CatalogOptions options;
    options.search_path = {QUENCH_BINARY_DIR "/lib/quench"};
    options.cache_dir = QUENCH_BINARY_DIR "/bench/cache";
    options.self = QUENCH_BINARY_DIR "/bin/quench";
    return options;
  }
  void add(const std::string& name, const std::vector<int64_t>& shape) {
    size_t count = 1;
    for (const int64_t size : shape) {
      count *= static_cast<size_t>(size);
    }
    source_.add(name, shape, std::vector<double>(count, 0.5), quench::kit::kFloat32);
  }
  void add_pair(const std::string& name, const std::vector<int64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  }

  quench::Catalog catalog_;
  quench::test::MemorySource source_;
  std::optional<quench::ModelHandle> model_;
};

const quench::ModelHandle& model() {
  static const OpenModel opened;
  return opened.handle();
}

// Seconds an iteration over 100 ns.
void report(benchmark::State& state) {
  state.counters["of_100ns"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 1e-7,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

uint64_t answer(const void* context) noexcept {
  return *static_cast<const uint64_t*>(context);
}

void call_within(benchmark::State& state) {
  const uint64_t value = 1;
  uint64_t (*function)(const void*) noexcept = answer;
  benchmark::DoNotOptimize(function);
  for (auto unused : state) {
    static_cast<void>(unused);
    benchmark::DoNotOptimize(function(&value));
  }
  report(state);
}

void table_info(benchmark::State& state) {
  const quench_model_table& table = model().table();
  quench_model* opened = model().get();
  quench_error error{sizeof error, 0, {}};
  for (auto unused : state) {
    static_cast<void>(unused);
    quench_model_info info{};
    info.struct_size = sizeof info;
    benchmark::DoNotOptimize(table.info(opened, &info, &error));
    benchmark::DoNotOptimize(info);
  }
  report(state);
}

void handle_info(benchmark::State& state) {
  const quench::ModelHandle& handle = model();
  for (auto unused : state) {
    static_cast<void>(unused);
    benchmark::DoNotOptimize(handle.info());
  }
  report(state);
}

void handle_weight_generation(benchmark::State& state) {
  const quench::ModelHandle& handle = model();
  const std::string name = kWeight;
  for (auto unused : state) {
    static_cast<void>(unused);
    benchmark::DoNotOptimize(handle.weight_generation(name));
  }
  report(state);
}

BENCHMARK(call_within);
BENCHMARK(table_info);
BENCHMARK(handle_info);
BENCHMARK(handle_weight_generation);

}  // namespace

BENCHMARK_MAIN();
