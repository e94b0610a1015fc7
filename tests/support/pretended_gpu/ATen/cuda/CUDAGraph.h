// What plugins/shared/cuda/graphs.cpp asks of libtorch's header of this name, for a GPU that is
// none.
#pragma once

#include <c10/core/Allocator.h>

namespace at::cuda {

inline c10::MempoolId_t graph_pool_handle() {
  static unsigned long long next = 0;
  return {0, ++next};
}

}  // namespace at::cuda
