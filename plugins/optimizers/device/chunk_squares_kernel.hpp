// Sums of squares of chunks of a vector, each by one thread in the order of memory, as the loop for
// processors adds them. A warp takes 32 chunks and brings them tile by tile through shared memory,
// so that it reads whole lines.
#pragma once

#include "shared/cuda/block.hpp"

namespace quench::optimizers {

struct Chunk {
  int64_t first;
  int64_t count;
};

struct ChunkSquares {
  static constexpr int kThreads = cuda::kWarp;
  static constexpr int kTile = cuda::kWarp;  // elements of each chunk at a time

  const float* values;
  const Chunk* chunks;  // [count]
  int64_t count;
  double* sums;  // [count], out: Σ x² in float64

  int64_t blocks() const { return (count + kThreads - 1) / kThreads; }

  struct Shared {
    Chunk chunks[kThreads];
    float tiles[kThreads][kTile + 1];  // the column more keeps a warp's reads in separate banks
  };

  QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
    block.each([&](int thread) {
      const int64_t own = block.index() * kThreads + thread;
      shared.chunks[thread] = own < count ? chunks[own] : Chunk{0, 0};
    });
    int64_t longest = 0;
    for (const Chunk& chunk : shared.chunks) {
      longest = longest < chunk.count ? chunk.count : longest;
    }
    cuda::PerThread<double, kThreads> sum;
    for (int64_t from = 0; from < longest; from += kTile) {
      block.each([&](int thread) {
        for (int c = 0; c < kThreads; ++c) {
          const Chunk chunk = shared.chunks[c];
          if (from + thread < chunk.count) {
            shared.tiles[c][thread] = values[chunk.first + from + thread];
          }
        }
      });
      block.each([&](int thread) {
        const int64_t left = shared.chunks[thread].count - from;
        for (int64_t i = 0; i < kTile && i < left; ++i) {
          const double x = shared.tiles[thread][i];
          sum[thread] += x * x;
        }
      });
    }
    block.each([&](int thread) {
      const int64_t own = block.index() * kThreads + thread;
      if (own < count) {
        sums[own] = sum[thread];
      }
    });
  }
};

}  // namespace quench::optimizers
