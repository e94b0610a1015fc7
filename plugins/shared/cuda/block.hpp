// The body of a kernel, written once for a GPU and for the host.
//
// A body is a sequence of phases. In a phase each thread of a block does its part, and the next
// phase begins when all are done. nvcc makes of it what one writes by hand: a thread runs its own
// part, then __syncthreads(). Any other compiler makes loops: over the blocks, over the phases,
// over the threads of a block. So the same source gives the same operations in the same order, and
// what a kernel computes is tested where no GPU is. What the host cannot show is speed.
//
//   struct Doubling {
//     static constexpr int kThreads = 64;
//     struct Shared { float values[kThreads]; };
//     const float* from; float* to;
//     QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
//       block.each([&](int thread) { shared.values[thread] = from[...] * 2; });
//       block.each([&](int thread) { to[...] = shared.values[kThreads - 1 - thread]; });
//     }
//   };
//
// Two rules make both forms agree. All that decides how many phases there are is the same for the
// whole block. And within a phase no thread reads what another one writes: the host can run the
// threads of a phase first to last or last to first (Order), and a body that breaks the rule then
// gives two results.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "shared/cuda/both.hpp"

namespace quench::cuda {

inline constexpr int kWarp = 32;

// In which order the host runs the threads of a phase. A GPU has none.
enum class Order { kFirstToLast, kLastToFirst };

#ifdef __CUDACC__

inline namespace on_device {

class Block {
 public:
  QUENCH_KERNEL int64_t index() const { return static_cast<int64_t>(blockIdx.x); }
  template <typename Part>
  QUENCH_KERNEL void each(Part part) {
    part(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
};

// What a thread keeps from phase to phase, in registers.
template <typename T, int kThreads>
class PerThread {
 public:
  QUENCH_KERNEL T& operator[](int) { return value_; }

 private:
  T value_{};
};

// Sets each thread's value to `combine` of those of its whole warp, pairwise: with the thread
// 16 away, then 8, 4, 2 and 1. So it must not matter to `combine` how it is bracketed.
template <typename T, int kThreads, typename Combine>
QUENCH_KERNEL void combine_warps(Block&, PerThread<T, kThreads>& values, Combine combine) {
  static_assert(sizeof(T) % sizeof(int) == 0);
  constexpr int kWords = static_cast<int>(sizeof(T) / sizeof(int));
  T& own = values[0];
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    int words[kWords];
    memcpy(words, &own, sizeof own);
    for (int& word : words) {
      word = __shfl_xor_sync(0xffffffffU, word, distance);
    }
    T other;
    memcpy(&other, words, sizeof other);
    own = combine(own, other);
  }
}

}  // namespace on_device

#else

inline namespace on_host {

class Block {
 public:
  Block(int64_t index, int threads, Order order)
      : index_(index), threads_(threads), order_(order) {}
  int64_t index() const { return index_; }
  template <typename Part>
  void each(Part part) {
    for (int i = 0; i < threads_; ++i) {
      part(order_ == Order::kFirstToLast ? i : threads_ - 1 - i);
    }
  }

 private:
  int64_t index_;
  int threads_;
  Order order_;
};

template <typename T, int kThreads>
class PerThread {
 public:
  T& operator[](int thread) { return values_[thread]; }

 private:
  T values_[kThreads] = {};
};

template <typename T, int kThreads, typename Combine>
void combine_warps(Block&, PerThread<T, kThreads>& values, Combine combine) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    PerThread<T, kThreads> before = values;
    for (int thread = 0; thread < kThreads; ++thread) {
      values[thread] = combine(before[thread], before[thread ^ distance]);
    }
  }
}

// Runs `blocks` blocks one after the other. Each begins with shared memory full of ones, which as
// floating-point numbers are NaN: on a GPU it holds anything.
template <typename Kernel>
void run_on_host(const Kernel& kernel, int64_t blocks, Order order = Order::kFirstToLast) {
  static_assert(Kernel::kThreads % kWarp == 0);
  const auto shared = std::make_unique<typename Kernel::Shared>();
  for (int64_t index = 0; index < blocks; ++index) {
    std::memset(static_cast<void*>(shared.get()), 0xff, sizeof *shared);
    Block block(index, Kernel::kThreads, order);
    kernel.run(block, *shared);
  }
}

}  // namespace on_host

#endif

}  // namespace quench::cuda
