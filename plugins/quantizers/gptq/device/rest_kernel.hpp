// What a panel's errors do to all columns past it, as a kernel: nearly all of the work.
//
// A block takes 32 rows and 32 columns, a thread one row and four columns of it. Errors and the
// factor's rows come through shared memory, 32 columns of the panel at a time. Products are taken
// off one after the other in the order of the panel's columns, never summed first, so in float64
// every weight has the bits of the plain reference.
#pragma once

#include <cstdint>

#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// weights[j, r] -= errors[k, r] * upper[k, j] + negated[k, r] * correction[k, j], k in [begin, end)
// and j in [end, columns). The arithmetic is of type T.
template <typename T>
struct UpdateRest {
  static constexpr int kRows = cuda::kWarp;
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kRows * kWarps;
  static constexpr int kOwn = 4;                  // columns of a thread
  static constexpr int kColumns = kOwn * kWarps;  // of a block
  static constexpr int kChunk = 32;

  int64_t rows;
  int64_t columns;
  int64_t begin;
  int64_t end;
  const double* upper;       // [columns, columns]
  const double* correction;  // [columns, columns], or null
  const T* errors;           // [end - begin, rows]
  const T* negated;          // [end - begin, rows]; only with `correction`
  T* weights;                // [columns, rows]

  int64_t row_blocks() const { return (rows + kRows - 1) / kRows; }
  int64_t blocks() const { return row_blocks() * ((columns - end + kColumns - 1) / kColumns); }

  struct Shared {
    T errors[kChunk][kRows];
    T negated[kChunk][kRows];
    T upper[kChunk][kColumns];
    T correction[kChunk][kColumns];
  };
  struct Own {
    T values[kOwn];
  };

  QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
    const int64_t row_blocks = (rows + kRows - 1) / kRows;
    const int64_t first_row = block.index() % row_blocks * kRows;
    const int64_t first_column = end + block.index() / row_blocks * kColumns;
    cuda::PerThread<Own, kThreads> own;
    block.each([&](int thread) {
      for (int i = 0; i < kOwn; ++i) {
        const int64_t at = place(thread, i, first_row, first_column);
        own[thread].values[i] = at < 0 ? T{0} : weights[at];
      }
    });
    for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
      const int count = end - chunk < kChunk ? static_cast<int>(end - chunk) : kChunk;
      block.each([&](int thread) { load(shared, thread, chunk, count, first_row, first_column); });
      block.each([&](int thread) {
        for (int k = 0; k < count; ++k) {
          subtract(shared, thread, k, own[thread]);
        }
      });
    }
    block.each([&](int thread) {
      for (int i = 0; i < kOwn; ++i) {
        const int64_t at = place(thread, i, first_row, first_column);
        if (at >= 0) {
          weights[at] = own[thread].values[i];
        }
      }
    });
  }

 private:
  // Where in `weights` the thread's i-th value lies; -1: outside.
  QUENCH_KERNEL int64_t place(int thread, int i, int64_t first_row, int64_t first_column) const {
    const int64_t row = first_row + thread % kRows;
    const int64_t column = first_column + thread / kRows * kOwn + i;
    return row < rows && column < columns ? column * rows + row : -1;
  }

  QUENCH_KERNEL void load(Shared& shared, int thread, int64_t chunk, int count, int64_t first_row,
                          int64_t first_column) const {
    const int lane = thread % kRows;
    const int64_t row = first_row + lane;
    const int64_t column = first_column + lane;
    for (int k = thread / kRows; k < count; k += kWarps) {
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
    const int lane = thread % kRows;
    const int first = thread / kRows * kOwn;
    for (int i = 0; i < kOwn; ++i) {
      const T product = shared.errors[k][lane] * shared.upper[k][first + i];
      own.values[i] -= correction == nullptr
                           ? product
                           : product + shared.negated[k][lane] * shared.correction[k][first + i];
    }
  }
};

}  // namespace quench::quantizers
