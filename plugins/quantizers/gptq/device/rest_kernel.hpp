// What a panel's errors do to all columns past it, as a kernel: nearly all of the work.
//
// A block takes 64 rows and 64 columns, a thread four by four of them, which it keeps in registers.
// Errors and the factor's rows come through shared memory, 16 columns of the panel at a time.
// Products are taken off one after the other in the order of the panel's columns, never summed
// first, so in float64 every weight has the bits of the plain reference.
#pragma once

#include <cstdint>

#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// weights[j, r] -= errors[k, r] * upper[k, j] + negated[k, r] * correction[k, j], k in [begin, end)
// and j in [end, columns). The arithmetic is of type T.
template <typename T>
struct UpdateRest {
  static constexpr int kOwn = 4;      // rows and columns of a thread
  static constexpr int kAcross = 16;  // threads that share columns, or rows
  static constexpr int kThreads = kAcross * kAcross;
  static constexpr int kTile = kOwn * kAcross;  // rows and columns of a block
  static constexpr int kChunk = 16;

  int64_t rows;
  int64_t columns;
  int64_t begin;
  int64_t end;
  const double* upper;       // [columns, columns]
  const double* correction;  // [columns, columns], or null
  const T* errors;           // [end - begin, rows]
  const T* negated;          // [end - begin, rows]; only with `correction`
  T* weights;                // [columns, rows]

  int64_t row_blocks() const { return (rows + kTile - 1) / kTile; }
  int64_t blocks() const { return row_blocks() * ((columns - end + kTile - 1) / kTile); }

  struct Shared {
    T errors[kChunk][kTile];
    T negated[kChunk][kTile];
    T upper[kChunk][kTile];
    T correction[kChunk][kTile];
  };
  struct Own {
    T values[kOwn][kOwn];  // [column][row]
  };

  QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
    const int64_t row_blocks = (rows + kTile - 1) / kTile;
    const int64_t first_row = block.index() % row_blocks * kTile;
    const int64_t first_column = end + block.index() / row_blocks * kTile;
    cuda::PerThread<Own, kThreads> own;
    block.each([&](int thread) {
      Own& mine = own[thread];
      for (int i = 0; i < kOwn; ++i) {
        for (int r = 0; r < kOwn; ++r) {
          const int64_t at = place(thread, i, r, first_row, first_column);
          mine.values[i][r] = at < 0 ? T{0} : weights[at];
        }
      }
    });
    for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
      const int count = end - chunk < kChunk ? static_cast<int>(end - chunk) : kChunk;
      block.each([&](int thread) { load(shared, thread, chunk, count, first_row, first_column); });
      block.each([&](int thread) {
        Own& mine = own[thread];
        for (int k = 0; k < count; ++k) {
          subtract(shared, thread, k, mine);
        }
      });
    }
    block.each([&](int thread) {
      const Own& mine = own[thread];
      for (int i = 0; i < kOwn; ++i) {
        for (int r = 0; r < kOwn; ++r) {
          const int64_t at = place(thread, i, r, first_row, first_column);
          if (at >= 0) {
            weights[at] = mine.values[i][r];
          }
        }
      }
    });
  }

 private:
  // Where in `weights` the thread's value of its i-th column and r-th row lies; -1: outside.
  QUENCH_KERNEL int64_t place(int thread, int i, int r, int64_t first_row,
                              int64_t first_column) const {
    const int64_t row = first_row + thread % kAcross * kOwn + r;
    const int64_t column = first_column + thread / kAcross * kOwn + i;
    return row < rows && column < columns ? column * rows + row : -1;
  }

  QUENCH_KERNEL void load(Shared& shared, int thread, int64_t chunk, int count, int64_t first_row,
                          int64_t first_column) const {
    const int lane = thread % kTile;
    const int64_t row = first_row + lane;
    const int64_t column = first_column + lane;
    for (int k = thread / kTile; k < count; k += kThreads / kTile) {
      const int64_t kept = (chunk + k - begin) * rows + row;
      const int64_t factor = (chunk + k) * columns + column;
      const bool has_row = row < rows;
      const bool has_column = column < columns;
      shared.errors[k][lane] = has_row ? errors[kept] : T{0};
      shared.upper[k][lane] = has_column ? static_cast<T>(upper[factor]) : T{0};
      if (correction != nullptr) {
        shared.negated[k][lane] = has_row ? negated[kept] : T{0};
        shared.correction[k][lane] = has_column ? static_cast<T>(correction[factor]) : T{0};
      }
    }
  }

  QUENCH_KERNEL void subtract(const Shared& shared, int thread, int k, Own& own) const {
    const int row = thread % kAcross * kOwn;
    const int column = thread / kAcross * kOwn;
    for (int i = 0; i < kOwn; ++i) {
      for (int r = 0; r < kOwn; ++r) {
        const T product = shared.errors[k][row + r] * shared.upper[k][column + i];
        own.values[i][r] -= correction == nullptr ? product
                                                  : product + shared.negated[k][row + r] *
                                                                  shared.correction[k][column + i];
      }
    }
  }
};

}  // namespace quench::quantizers
