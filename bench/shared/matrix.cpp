// Products of matrices by shape: our rate, libtorch's, and their parts of what a tile reaches. One
// form a run, since libtorch reads its own when it is loaded.
//
//   shared_matrix [threads = 1] [form = the widest but avx512_bf16]
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "bench/shared/matrix_products.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const quench::InstructionSet form =
      quench::choose_instruction_set(argc > 2 ? std::optional<std::string>(argv[2]) : std::nullopt);
  if (std::getenv("ATEN_CPU_CAPABILITY") == nullptr) {  // read when libtorch is loaded, before main
    quench::bind_libraries_to(form);
    execv("/proc/self/exe", argv);
  }
  quench::HostServices& services = quench::HostServices::instance();
  services.set_instructions(form);
  services.set_threads(static_cast<uint32_t>(threads));
  quench::bench::print_matrix_products(services.host_for("bench"), to_text(form), threads);
  return 0;
}
