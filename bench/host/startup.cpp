// How long quench takes to answer: --version, and, with a warm cache of plugin descriptions,
// `plugins list` and `plan` of six checkpoints, four quantizers and a metric. `true` is what any
// process costs here.
//
//   host_startup [runs = 50]
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/subprocess.hpp"

namespace {

namespace fs = std::filesystem;

constexpr double kGoal = 0.030;  // seconds

struct Command {
  std::string name;
  std::vector<std::string> arguments;
  quench::bench::Samples wall = {};
  quench::bench::Samples processor = {};
};

constexpr std::string_view kManifest = R"(name: plan
checkpoints:
  model: trajectory
  revisions: "step{step}"
calibration:
  words: {corpus: text, sequences: 4, length: 8, packing: concat}
quantizers:
  - rtn: {bits: [3, 4]}
  - gptq: {bits: [3, 4]}
    calibration: words
metrics:
  - validation_loss: {corpus: text, block: 8}
corpora:
  text: {text: {path: text.txt}}
)";

// A manifest and all that planning reads of what it names.
std::string write_manifest(const fs::path& folder) {
  for (int step = 0; step < 6; ++step) {
    const fs::path checkpoint = folder / "trajectory" / fmt::format("step{}", step);
    fs::create_directories(checkpoint);
    std::ofstream(checkpoint / "config.json") << R"({"model_type": "gpt_neox"})";
  }
  std::ofstream(folder / "text.txt") << "a text\n";
  std::ofstream(folder / "plan.yaml") << kManifest;
  return folder / "plan.yaml";
}

void measure(std::vector<Command>& commands, int runs) {
  for (int run = -1; run < runs; ++run) {  // interleaved, so that a busy machine hits all
    for (Command& command : commands) {
      const quench::bench::Run result = quench::bench::run_command(command.arguments);
      if (run >= 0) {  // the first fills caches
        command.wall.add(result.wall);
        command.processor.add(result.processor);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 50;
  const std::string quench = QUENCH_BINARY_DIR "/bin/quench";
  const std::string manifest = write_manifest(QUENCH_BINARY_DIR "/bench/plan");
  std::vector<Command> commands = {
      {"true", {"/bin/true"}},
      {"quench --version", {quench, "--version"}},
      {"quench plugins list", {quench, "plugins", "list"}},
      {"quench plan", {quench, "plan", manifest}},
  };
  try {
    measure(commands, runs);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  for (const Command& command : commands) {
    fmt::print("{:<24} wall min {:5.1f} median {:5.1f} ms  cpu min {:5.1f} ms  of {} ms: {:.2f}\n",
               command.name, 1e3 * command.wall.least(), 1e3 * command.wall.median(),
               1e3 * command.processor.least(), 1e3 * kGoal, command.wall.median() / kGoal);
  }
  return 0;
}
