// What a call across the plugin boundary costs, by the raw table and by the host's handle, beside a
// call through a pointer within this program, and what it costs where the plugin has a process of
// its own. `of_100ns` and `of_20us` are the time as a part of these.
#include <benchmark/benchmark.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/worker/served_plugins.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/support/memory_source.hpp"

namespace {

constexpr const char* kWeight = "gpt_neox.layers.0.mlp.dense_h_to_4h.weight";
constexpr int64_t kWidth = 16;

// The smallest model of the gpt_neox family, open through the catalog; lives as long as the
// process.
class OpenModel {
 public:
  explicit OpenModel(bool in_worker) : workers_(worker_options()), catalog_(options(in_worker)) {
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
  static quench::WorkerOptions worker_options() {
    quench::WorkerOptions options;
    options.self = QUENCH_BINARY_DIR "/bin/quench";
    return options;
  }
  // A copy of the family did not come with the program, so it gets a process of its own.
  static std::filesystem::path copied_family() {
    const std::filesystem::path built = QUENCH_BINARY_DIR "/lib/quench";
    const std::filesystem::path copies = QUENCH_BINARY_DIR "/bench/copies";
    std::filesystem::create_directories(copies / "models");
    std::filesystem::copy_file(built / "models/gpt_neox.so", copies / "models/gpt_neox.so",
                               std::filesystem::copy_options::overwrite_existing);
    std::error_code is_there;
    std::filesystem::create_directory_symlink(built / "deps", copies / "deps", is_there);
    return copies;
  }
  quench::CatalogOptions options(bool in_worker) {
    quench::CatalogOptions options;
    options.load_in_worker = [this](const quench::PluginDescription& plugin) -> const quench_item& {
      return workers_.load(plugin);
    };
    options.starts_in_worker = [this](const quench::PluginDescription& plugin) {
      return workers_.starts(plugin);
    };
    options.search_path = {in_worker ? copied_family() : QUENCH_BINARY_DIR "/lib/quench"};
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

  quench::ServedPlugins workers_;
  quench::Catalog catalog_;
  quench::test::MemorySource source_;
  std::optional<quench::ModelHandle> model_;
};

const quench::ModelHandle& model() {
  static const OpenModel opened(false);
  return opened.handle();
}

const quench::ModelHandle& model_in_worker() {
  static const OpenModel opened(true);
  return opened.handle();
}

// Seconds an iteration over a goal.
void report_of(benchmark::State& state, const char* name, double goal) {
  state.counters[name] =
      benchmark::Counter(static_cast<double>(state.iterations()) * goal,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void report(benchmark::State& state) {
  report_of(state, "of_100ns", 1e-7);
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

// A message there and one back; nothing of the answer is remembered here.
void process_weight_generation(benchmark::State& state) {
  const quench::ModelHandle& handle = model_in_worker();
  const std::string name = kWeight;
  for (auto unused : state) {
    static_cast<void>(unused);
    benchmark::DoNotOptimize(handle.weight_generation(name));
  }
  report_of(state, "of_20us", 2e-5);
}

BENCHMARK(call_within);
BENCHMARK(table_info);
BENCHMARK(handle_info);
BENCHMARK(handle_weight_generation);
BENCHMARK(process_weight_generation)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
