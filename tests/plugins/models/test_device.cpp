// A file of its own: benchmarks drive models, too, and have no test that could be skipped.
#include <cstdlib>
#include <string_view>

#include "tests/plugins/models/model_driver.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/torch_gpu.hpp"

namespace quench::test {

quench_device test_device() {
  const char* named = std::getenv("QUENCH_TEST_DEVICE");
  if (named == nullptr || std::string_view(named) == "cpu") {
    return {QUENCH_DEVICE_CPU, 0};
  }
  static const c10::Device gpu = gpu_or_skip();
  return {QUENCH_DEVICE_CUDA, gpu.index()};
}

void need_host_memory() {
  skip_unless(test_device().type == QUENCH_DEVICE_CPU, "needs a model in host memory");
}

}  // namespace quench::test
