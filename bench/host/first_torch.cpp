// First use of libtorch by a process: from the request to load the gpt_neox family to its answer
// about a config, files in the page cache. Each run is a process of its own.
//
//   host_first_torch [runs = 10]
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "bench/support/timing.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/instance.hpp"
#include "quench/abi/kind/model.h"

namespace {

constexpr double kGoal = 0.6;  // seconds

constexpr std::string_view kConfig =
    R"({"model_type": "gpt_neox", "num_hidden_layers": 12, "hidden_size": 768,
        "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50304,
        "max_position_embeddings": 2048})";

// Prints wall and processor seconds of load and probe.
int child() {
  quench::CatalogOptions options;
  options.search_path = {QUENCH_BINARY_DIR "/lib/quench"};
  options.cache_dir = QUENCH_BINARY_DIR "/bench/cache";
  options.self = QUENCH_BINARY_DIR "/bin/quench";
  quench::Catalog catalog(options);
  const quench::PluginDescription& family = catalog.require("model", "gpt_neox");
  const double wall = quench::bench::wall_clock();
  const double processor = quench::bench::processor_clock();
  const auto* table = quench::load_table<quench_model_table>(catalog, family);
  quench_error error{sizeof error, 0, {}};
  const int32_t score = table->probe(kConfig.data(), kConfig.size(), &error);
  std::printf("%.6f %.6f\n", quench::bench::wall_clock() - wall,
              quench::bench::processor_clock() - processor);
  std::fflush(stdout);
  _exit(score > 0 ? 0 : 1);  // libtorch's destructors are no part of the question
}

int measure(const char* self, int runs) {
  quench::bench::Samples walls;
  quench::bench::Samples processors;
  for (int run = -1; run < runs; ++run) {  // the first fills caches
    double wall = 0;
    double processor = 0;
    FILE* out = popen(fmt::format("'{}' --child", self).c_str(), "r");
    if (out == nullptr || std::fscanf(out, "%lf %lf", &wall, &processor) != 2 || pclose(out) != 0) {
      fmt::print(stderr, "the child failed\n");
      return 1;
    }
    if (run >= 0) {
      walls.add(wall);
      processors.add(processor);
    }
  }
  fmt::print(
      "first libtorch           wall min {:5.0f} median {:5.0f} ms  cpu min {:5.0f} ms  of {} ms: "
      "{:.2f}\n",
      1e3 * walls.least(), 1e3 * walls.median(), 1e3 * processors.least(), 1e3 * kGoal,
      walls.median() / kGoal);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], "--child") == 0) {
      return child();
    }
    return measure(argv[0], argc > 1 ? std::atoi(argv[1]) : 10);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
