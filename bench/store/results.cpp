// `quench results` over 100,000 records, as CSV, JSON, table and SQLite, and their parts: what
// reading, checking and ordering take. The records are synthetic, about 2 KB each.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "bench/support/timing.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/store/record.hpp"
#include "core/store/record_columns.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/sealed_line.hpp"

namespace fs = std::filesystem;
using quench::Record;

namespace {

constexpr int kMethods = 20;  // of each checkpoint, the float model among them

Record synthetic(int i, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const int step = i / kMethods;
  const int method = i % kMethods;
  Record out;
  out.parts = {{"weights", std::string(64, 'b')},
               {"plugin", std::string(64, 'c')},
               {"corpus", std::string(64, 'd')},
               {"tokenizer", std::string(64, 'e')},
               {"step", step},
               {"method", method}};
  out.key = quench::sha256_hex(quench::canonical_json(out.parts));
  out.checkpoint = {{"model", "hf://org/model"},
                    {"revision", fmt::format("step{}", step)},
                    {"commit", std::string(40, 'f')},
                    {"branch", "main"},
                    {"parent", nullptr},
                    {"mark", nullptr},
                    {"step", step},
                    {"tokens", step * 2048},
                    {"lr", 1e-4},
                    {"phase", "decay"}};
  out.details = {{"params", {{"block", 2048}}}};
  if (method > 0) {
    out.quantizer = {{"id", "method"},
                     {"label", fmt::format("method bits={}", method)},
                     {"params", {{"bits", method}, {"group_size", 128}}},
                     {"version", "0.1"},
                     {"sha256", std::string(64, 'a')},
                     {"bits_per_weight", method + 0.125},
                     {"calibration", "corpus"}};
    out.draw = 0u;
    out.jitter = 0u;
    for (int layer = 0; layer < 8; ++layer) {
      out.details["layers"].push_back(
          {{"name", fmt::format("layers.{}.mlp", layer)}, {"relative_error", uniform(random)}});
    }
  }
  out.metric = "loss";
  out.label = "loss";
  out.value = 2 + uniform(random);
  out.unit = "nats/token";
  out.direction = -1;
  out.standard_error = 0.01;
  for (int item = 0; item < 16; ++item) {
    out.items.push_back(uniform(random));
  }
  out.seconds = 1.5;
  out.environment = {{"quench", "0.1.0"},
                     {"family", "family"},
                     {"dtype", "float32"},
                     {"device", "cpu"},
                     {"seed", 0},
                     {"threads", 2},
                     {"peak_memory_bytes", 123456 + i}};
  return out;
}

void generate(const fs::path& run, int records) {
  fs::create_directories(run);
  std::ofstream out(run / "records-0-0001-00000000.jsonl");
  std::mt19937_64 random(1);
  for (int i = 0; i < records; ++i) {
    out << quench::seal("record", quench::canonical_json(to_json(synthetic(i, random)))) << '\n';
  }
}

void measure_program(const fs::path& run, const std::string& options) {
  quench::bench::Samples wall;
  quench::bench::Samples processor;
  const std::string command = fmt::format("{}/bin/quench results {} {} > /dev/null",
                                          QUENCH_BINARY_DIR, run.string(), options);
  for (int i = 0; i < 3; ++i) {
    rusage before{};
    rusage after{};
    getrusage(RUSAGE_CHILDREN, &before);
    const double start = quench::bench::wall_clock();
    if (std::system(command.c_str()) != 0) {
      fmt::print("failed: {}\n", command);
      std::exit(1);
    }
    wall.add(quench::bench::wall_clock() - start);
    getrusage(RUSAGE_CHILDREN, &after);
    processor.add(quench::bench::seconds_of(after) - quench::bench::seconds_of(before));
  }
  fmt::print("results {:<24} {:6.2f} s, {:5.2f} s of processor\n", options, wall.least(),
             processor.least());
}

}  // namespace

int main(int argc, char** argv) {
  const int records = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const fs::path run = fs::temp_directory_path() / fmt::format("quench-bench-store-{}", getpid());
  generate(run, records);
  fmt::print("{} records, {:.0f} MB\n", records,
             static_cast<double>(fs::file_size(run / "records-0-0001-00000000.jsonl")) / 1e6);
  for (const char* options : {"--csv", "--json", "", "--table latex"}) {
    measure_program(run, options);
  }
  measure_program(run, "--sqlite " + (run / "out.db").string());
  measure_program(run, "--csv --where 'step>=100 and quantizer.params.bits=4'");
  const double start = quench::bench::wall_clock();
  quench::RunScan scan = quench::scan_run(run);
  const double scanned = quench::bench::wall_clock();
  quench::sort_records(scan, scan.counted);
  fmt::print("reading and checking {:.2f} s, ordering {:.2f} s\n", scanned - start,
             quench::bench::wall_clock() - scanned);
  fs::remove_all(run);
  return 0;
}
