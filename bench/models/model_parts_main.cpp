// Where the time of a validation loss or of a training's gradient goes: products by shape,
// attention, norms, activations, head. One form a run, since libtorch reads its own when it is
// loaded.
//
//   model_parts [WORK = loss] [SHAPE = pythia-160m] [THREADS = 2] [ROUNDS = 5] [FORM = the widest]
//
// WORK: loss or training. SHAPE: pythia-160m (12 x 768; 1 x 2048 ids, or 4 x 512 in training) or
// quickstart (3 x 96; 16 x 128 ids, or 32 x 128). FORM: avx512, avx2 or portable.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include "bench/models/model_parts.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"

int main(int argc, char** argv) {
  const auto word = [&](int i, const char* otherwise) {
    return std::string(argc > i ? argv[i] : otherwise);
  };
  try {
    const quench::InstructionSet form = quench::choose_instruction_set(
        argc > 5 ? std::optional<std::string>(argv[5]) : std::nullopt);
    if (std::getenv("ATEN_CPU_CAPABILITY") == nullptr) {  // read when libtorch is loaded
      quench::bind_libraries_to(form);
      execv("/proc/self/exe", argv);
    }
    quench::HostServices& services = quench::HostServices::instance();
    const quench::bench::PartsRequest request = {word(1, "loss"), word(2, "pythia-160m"),
                                                 std::atoi(word(3, "2").c_str()),
                                                 std::atoi(word(4, "5").c_str())};
    services.set_instructions(form);
    services.set_threads(static_cast<uint32_t>(request.threads));
    quench::bench::print_model_parts(services.host_for("bench"), quench::to_text(form), request);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "model_parts: %s\n", error.what());
    return 1;
  }
}
