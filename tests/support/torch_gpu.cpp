#include "tests/support/torch_gpu.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <string>

#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"

namespace quench::test {

void load_gpu_part_or_skip() {
  const auto part = binary_dir() / "lib/quench/deps/torch/lib/libtorch_cuda.so";
  if (dlopen(part.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    skip(std::string("no GPU: ") + dlerror());
  }
}

c10::Device gpu_or_skip() {
  load_gpu_part_or_skip();
  skip_unless(at::hasCUDA(), "libtorch finds no GPU");
  return {c10::kCUDA, 0};
}

}  // namespace quench::test
