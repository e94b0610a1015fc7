// Factors and codes of blocks of weights, as a kernel: a warp takes one block. Both are those of
// blocks.hpp to the bit; extremes do not depend on the order in which they are found.
#pragma once

#include <cmath>

#include "quantizers/codebook/blocks.hpp"
#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// `count` weights in C order, in blocks of `block_size`.
template <typename T>
struct CodeBlocks {
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kWarps * cuda::kWarp;

  const T* weight;
  int64_t count;
  int64_t block_size;
  LevelSearch search;
  float* maxima;   // [blocks of weights]
  uint8_t* codes;  // [count]

  int64_t parts() const { return (count + block_size - 1) / block_size; }
  int64_t blocks() const { return (parts() + kWarps - 1) / kWarps; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<T, kThreads> largest;
    block.each([&](int thread) {
      const Part part = part_of(block, thread);
      T found = 0;
      for (int64_t i = part.from + part.lane; i < part.to; i += cuda::kWarp) {
        const T size = std::fabs(weight[i]);
        found = found < size ? size : found;
      }
      largest[thread] = found;
    });
    cuda::combine_warps(block, largest, [](T a, T b) { return a < b ? b : a; });
    block.each([&](int thread) {
      const Part part = part_of(block, thread);
      const auto maximum = static_cast<float>(largest[thread]);
      if (part.lane == 0 && part.from < part.to) {
        maxima[part.number] = maximum;
      }
      const BlockCoder<T> coder(search, maximum);
      for (int64_t i = part.from + part.lane; i < part.to; i += cuda::kWarp) {
        codes[i] = coder.code_of(weight[i]);
      }
    });
  }

 private:
  // The weights [from, to): a warp's. None past the last block.
  struct Part {
    int64_t number;
    int64_t from;
    int64_t to;
    int lane;
  };

  QUENCH_KERNEL Part part_of(const cuda::Block& block, int thread) const {
    const int64_t number = block.index() * kWarps + thread / cuda::kWarp;
    const int lane = thread % cuda::kWarp;
    const int64_t from = number * block_size;
    if (from >= count) {
      return {0, 0, 0, lane};
    }
    return {number, from, from + block_size < count ? from + block_size : count, lane};
  }
};

}  // namespace quench::quantizers
