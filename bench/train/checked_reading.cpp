// What checking costs beside reading: a state of a training, and sequences of a packed corpus at
// random places, each as they lie in the page cache.
//
//   bench_checked_reading [MILLIONS = 64] [MEGABYTES = 64]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "bench/support/timing.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/handles/corpus_handle.hpp"
#include "train/packed_tokens.hpp"
#include "train/trained_states.hpp"

namespace {

using namespace quench;
namespace fs = std::filesystem;

constexpr uint64_t kLength = 2049;  // ids of a sequence and its targets

double seconds_of(const auto& body) {
  const double start = bench::wall_clock();
  body();
  return bench::wall_clock() - start;
}

void measure_state(const fs::path& home, uint64_t elements) {
  TrainedStates states(home);
  const std::vector<float> weights(elements, 0.5F);
  const std::vector<FlatParameter> parameters = {
      {"w", QUENCH_ROLE_MATRIX, {static_cast<int64_t>(elements)}, 0, elements}};
  const double write = seconds_of([&] {
    states.save_weights("a", {"{}", "", {}}, parameters, weights);
  });
  std::vector<float> read(elements);
  const fs::path file = states.weights_path("a") / "model.safetensors";
  const double load =
      seconds_of([&] { SafetensorsSource(file).read(0, 0, elements, read.data()); });
  fs::last_write_time(file, fs::file_time_type::clock::now());  // or its hash would be remembered
  const double check =
      seconds_of([&] { states.fault(states.weights_path("a"), Depth::kContents); });
  const double bytes = static_cast<double>(elements) * sizeof(float) / 1e9;
  fmt::print(
      "state of {:.2f} GB: written with its list in {:.3f} s, read in {:.3f} s, checked in "
      "{:.3f} s ({:.2f} GB/s)\n",
      bytes, write, load, check, bytes / check);
}

void measure_tokens(const fs::path& home, uint64_t bytes) {
  const fs::path text = home / "t.txt";
  std::ofstream(text) << std::string(bytes, 'x');
  CatalogOptions options;
  options.search_path = {std::string(QUENCH_BINARY_DIR) + "/lib/quench"};
  options.self = std::string(QUENCH_BINARY_DIR) + "/bin/quench";
  Catalog catalog(options);
  TrainingCorpus corpus;
  corpus.name = "text";
  corpus.plugin = catalog.find("corpus", "text");
  std::vector<ParameterProblem> problems;
  corpus.parameters = complete_parameters(*corpus.plugin, {{"path", text.string()}}, problems);
  corpus.fingerprint = CorpusHandle(catalog, *corpus.plugin, corpus.parameters).fingerprint();
  const PackedTokens tokens = PackedTokens::open(catalog, {&corpus, "bytes", "bytes", {}}, home);
  std::vector<uint64_t> places(20'000);
  std::mt19937_64 random(1);
  std::generate(places.begin(), places.end(), [&] { return random() % (tokens.size() - kLength); });
  std::vector<int32_t> ids(kLength);
  const double checked = seconds_of([&] {
    for (const uint64_t place : places) {
      tokens.read(place, ids);
    }
  });
  const fs::path folder = fs::directory_iterator(home / "tokens")->path();
  const File file(folder / "000000.ids");
  std::vector<uint16_t> plain(kLength);
  const double unchecked = seconds_of([&] {
    for (const uint64_t place : places) {
      file.read(place % (file.size() / 2 - kLength) * 2, plain.data(), plain.size() * 2);
    }
  });
  const auto each = [&](double seconds) { return seconds / static_cast<double>(places.size()); };
  fmt::print("sequence of {} ids: read and checked in {:.1f} µs, read alone in {:.1f} µs\n",
             kLength, each(checked) * 1e6, each(unchecked) * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t millions = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64;
  const uint64_t megabytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 64;
  const fs::path home = fs::temp_directory_path() / "quench_bench_checked_reading";
  fs::remove_all(home);
  fs::create_directories(home);
  measure_state(home, millions * 1'000'000);
  measure_tokens(home, megabytes * 1'000'000);
  fs::remove_all(home);
  return 0;
}
