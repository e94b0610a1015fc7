// kernels.so for a pretended device: the same kernels, run on the host.
#include <cstdio>
#include <cstring>

#include "optimizers/device/entries.hpp"
#include "shared/cuda/entries.h"
#include "tests/support/pretended_device/memory.h"

namespace quench::optimizers {

namespace {

template <typename Rule>
int update(const cuda::ForEach<Rule>* kernel) {
  const test::OnPretendedDevice device;
  cuda::run_on_host(*kernel, kernel->blocks(), cuda::Order::kLastToFirst);
  return 0;
}

}  // namespace

extern "C" {

#define QUENCH_UPDATE(name, Rule)                                                          \
  __attribute__((visibility("default"))) int name(const cuda::ForEach<Rule>* kernel,       \
                                                  int /*device*/, char* /*why*/, size_t) { \
    return update(kernel);                                                                 \
  }
QUENCH_UPDATE(quench_cuda_adamw, AdamWElements)
QUENCH_UPDATE(quench_cuda_sgd, SgdElements)
QUENCH_UPDATE(quench_cuda_momentum, MomentumElements)
QUENCH_UPDATE(quench_cuda_direction, DirectionElements)
QUENCH_UPDATE(quench_cuda_schedule_free, ScheduleFreeElements)
QUENCH_UPDATE(quench_cuda_schedule_free_average, ScheduleFreeAverageElements)
#undef QUENCH_UPDATE
}

}  // namespace quench::optimizers

int quench_cuda_allocate(int, size_t bytes, void** memory, char* why, size_t why_bytes) {
  *memory = pretended_allocate(bytes);
  if (*memory == nullptr) {
    std::snprintf(why, why_bytes, "no memory");
  }
  return *memory == nullptr ? 1 : 0;
}

void quench_cuda_release(int, void* memory) {
  pretended_release(memory);
}

int quench_cuda_copy(int, void* to, const void* from, size_t bytes, char*, size_t) {
  const quench::test::OnPretendedDevice device;
  std::memcpy(to, from, bytes);
  return 0;
}
