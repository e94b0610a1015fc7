// A kernel that does the same to each of many elements, none of which reads what another one
// writes.
#pragma once

#include "shared/cuda/block.hpp"

namespace quench::cuda {

// `Rule`: void operator()(int64_t element) const, QUENCH_BOTH.
template <typename Rule>
struct ForEach {
  static constexpr int kThreads = 256;
  static constexpr int64_t kElements = 4 * kThreads;  // of a block

  Rule rule;
  int64_t count;

  int64_t blocks() const { return (count + kElements - 1) / kElements; }

  struct Shared {};

  QUENCH_KERNEL void run(Block& block, Shared&) const {
    block.each([&](int thread) {
      const int64_t first = block.index() * kElements;
      const int64_t end = count - first < kElements ? count : first + kElements;
      for (int64_t i = first + thread; i < end; i += kThreads) {
        rule(i);
      }
    });
  }
};

}  // namespace quench::cuda
