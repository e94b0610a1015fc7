#include "core/plugin/library/library_environment.hpp"

#include <cstdlib>

#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"

namespace quench {

void prepare_libraries() {
  bind_libraries_to(HostServices::instance().instructions());
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    setenv(name, "1", 1);
  }
  setenv("OMP_DYNAMIC", "false", 1);
}

}  // namespace quench
