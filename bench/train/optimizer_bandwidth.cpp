// One step of each optimizer over a large tensor: bytes a second that it must move (weight,
// gradient and state in, weight and state out), beside what a plain sum of arrays of the same
// threads moves.
//
//   bench_optimizer_bandwidth [MILLIONS = 64] [THREADS = 2] [ROUNDS = 15]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/support/timing.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/handles/optimizer_handle.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/service_tables.hpp"
#include "train/host_view.hpp"

namespace {

using namespace quench;

constexpr quench_dtype kFloat32 = {QUENCH_DTYPE_FLOAT, 32, 1};
constexpr uint64_t kGrain = uint64_t{1} << 15;

// The same traffic as AdamW's, with next to no arithmetic: w, m, v are read and written, g read.
struct Streams {
  float* w;
  float* m;
  float* v;
  const float* g;

  static quench_status run(void* user, uint64_t begin, uint64_t end) noexcept {
    const auto s = *static_cast<Streams*>(user);
    for (uint64_t i = begin; i < end; ++i) {
      const float g = s.g[i];
      s.w[i] += g;
      s.m[i] += g;
      s.v[i] += g;
    }
    return QUENCH_OK;
  }
};

double best_seconds(int rounds, const auto& body) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const double start = bench::wall_clock();
    body();
    best = std::min(best, bench::wall_clock() - start);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = static_cast<int64_t>(argc > 1 ? std::atoi(argv[1]) : 64) * 1'000'000;
  const auto threads = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 2);
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 15;
  HostServices::instance().set_threads(threads);
  CatalogOptions options;
  options.search_path = {std::string(QUENCH_BINARY_DIR) + "/lib/quench"};
  options.self = std::string(QUENCH_BINARY_DIR) + "/bin/quench";
  Catalog catalog(options);
  std::vector<float> weight(static_cast<size_t>(count), 0.5F);
  std::vector<float> gradient(static_cast<size_t>(count), 0.001F);
  const HostView weight_view(weight.data(), kFloat32, {count});
  const HostView gradient_view(gradient.data(), kFloat32, {count});
  const quench_tensor w = weight_view.get();
  const quench_tensor g = gradient_view.get();

  double limit = 0;
  {
    std::vector<float> m(weight.size());
    std::vector<float> v(weight.size());
    Streams streams{weight.data(), m.data(), v.data(), gradient.data()};
    const double seconds = best_seconds(rounds, [&] {
      parallel_for(threads, static_cast<uint64_t>(count), kGrain, Streams::run, &streams);
    });
    limit = 28.0 * static_cast<double>(count) / seconds;
    fmt::print("{:20} {:6.2f} GB/s\n", "sums of arrays", limit / 1e9);
  }
  const int64_t shape[] = {count};
  const quench_parameter_info info = {sizeof info, QUENCH_ROLE_MATRIX, "w", 1, shape, 0, 0,
                                      nullptr};
  for (const auto& [id, bytes] :
       {std::pair("adamw", 28.0), {"sgd", 20.0}, {"schedule_free_adamw", 28.0}}) {
    const PluginDescription& plugin = catalog.require("optimizer", id);
    std::vector<ParameterProblem> problems;
    OptimizerHandle optimizer(catalog, plugin,
                              complete_parameters(plugin, nlohmann::json::object(), problems));
    optimizer.begin({&info, 1}, {QUENCH_DEVICE_CPU, 0});
    uint64_t step = 0;
    const double seconds = best_seconds(rounds + 1, [&] {
      ++step;
      const quench_step_args args = {
          sizeof(quench_step_args), 0, 0, step, 1e-3, 1e-3, 1, &w, &g, nullptr, 1};
      optimizer.step({&args, 1});
    });
    const double rate = bytes * static_cast<double>(count) / seconds;
    fmt::print("{:20} {:6.2f} GB/s, {:.2f} of it\n", id, rate / 1e9, rate / limit);
  }
}
