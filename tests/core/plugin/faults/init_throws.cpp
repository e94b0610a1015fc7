// Lets an exception out of a function of the border.
#include <stdexcept>

#include "quench/abi/module.h"

namespace {

void raise() {
  throw std::runtime_error("thrown over the border");
}

quench_status throwing_init(const quench_host*, quench_error*) noexcept {
  raise();
  return QUENCH_OK;
}
const quench_module kModule = {sizeof(quench_module),
                               QUENCH_ABI_MAJOR,
                               QUENCH_ABI_MINOR,
                               0,
                               "test.fault",
                               "1.0.0",
                               "by hand",
                               throwing_init,
                               nullptr,
                               0,
                               nullptr};

}  // namespace

extern "C" const quench_module* quench_module_v1(void) noexcept {
  return &kModule;
}
