// kernels.so for a pretended device: the same kernels, run on the host.
#include <cstdio>
#include <cstring>

#include "optimizers/device/entries.hpp"
#include "shared/cuda/entries.h"
#include "tests/support/pretended_device/memory.h"

namespace quench::optimizers {

namespace {

template <typename Kernel>
int run(const Kernel* kernel) {
  const test::OnPretendedDevice device;
  cuda::run_on_host(*kernel, kernel->blocks(), cuda::Order::kLastToFirst);
  return 0;
}

}  // namespace

extern "C" {

#define QUENCH_ENTRY(name, ...)                                                              \
  __attribute__((visibility("default"))) int name(const __VA_ARGS__* kernel, int /*device*/, \
                                                  char* /*why*/, size_t) {                   \
    return run(kernel);                                                                      \
  }
QUENCH_ENTRY(quench_cuda_adamw, cuda::ForEach<AdamWElements>)
QUENCH_ENTRY(quench_cuda_sgd, cuda::ForEach<SgdElements>)
QUENCH_ENTRY(quench_cuda_momentum, cuda::ForEach<MomentumElements>)
QUENCH_ENTRY(quench_cuda_direction, cuda::ForEach<DirectionElements>)
QUENCH_ENTRY(quench_cuda_schedule_free, cuda::ForEach<ScheduleFreeElements>)
QUENCH_ENTRY(quench_cuda_schedule_free_average, cuda::ForEach<ScheduleFreeAverageElements>)
QUENCH_ENTRY(quench_cuda_moved, cuda::ForEach<MovedElements>)
QUENCH_ENTRY(quench_cuda_penalized, cuda::ForEach<PenalizedElements>)
QUENCH_ENTRY(quench_cuda_chunk_squares, ChunkSquares)
QUENCH_ENTRY(quench_cuda_round_groups, RoundGroups)
#undef QUENCH_ENTRY
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
