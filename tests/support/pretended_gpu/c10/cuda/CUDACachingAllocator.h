// What plugins/shared/cuda/graphs.cpp asks of libtorch's header of this name, for a GPU that is
// none. It ends the process where pools are not used in pairs of calls.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

namespace c10::cuda::CUDACachingAllocator {

struct PretendedPool {
  int uses = 0;
  bool allocates = false;
};
inline std::map<c10::MempoolId_t, PretendedPool>& pretended_pools() {
  static auto* pools = new std::map<c10::MempoolId_t, PretendedPool>;
  return *pools;
}
inline void pretended_expect(bool right, const char* what) {
  if (!right) {
    std::fprintf(stderr, "pretended: %s\n", what);
    std::abort();
  }
}

inline void emptyCache() {
  for (const auto& [id, pool] : pretended_pools()) {
    pretended_expect(!pool.allocates, "memory is given back while work is recorded");
  }
}
inline void beginAllocateToPool(c10::DeviceIndex, c10::MempoolId_t id,
                                const std::function<bool(cudaStream_t)>& filter) {
  PretendedPool& pool = pretended_pools()[id];
  pretended_expect(!pool.allocates, "a pool is begun twice");
  pretended_expect(!filter(nullptr), "a pool takes what the first stream allocates");
  pool.allocates = true;
  ++pool.uses;
}
inline void endAllocateToPool(c10::DeviceIndex, c10::MempoolId_t id) {
  pretended_expect(pretended_pools()[id].allocates, "a pool is ended that was not begun");
  pretended_pools()[id].allocates = false;
}
inline void releasePool(c10::DeviceIndex, c10::MempoolId_t id) {
  PretendedPool& pool = pretended_pools()[id];
  pretended_expect(pool.uses > 0 && !pool.allocates, "a pool is released too early, or twice");
  --pool.uses;
}

}  // namespace c10::cuda::CUDACachingAllocator
