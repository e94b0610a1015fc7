// Between a layer's matrices, whose rows are contiguous, and those of the column loop, whose
// columns are, in the order of quantization. A block turns a square of 32 by 32 through shared
// memory, so that both sides are read and written along memory.
#pragma once

#include <cstdint>

#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// The squares of a matrix [rows, columns], and the threads' parts of one.
struct Squares {
  static constexpr int kSide = cuda::kWarp;
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kSide * kWarps;

  int64_t rows;
  int64_t columns;

  QUENCH_BOTH int64_t across() const { return (columns + kSide - 1) / kSide; }
  int64_t count() const { return across() * ((rows + kSide - 1) / kSide); }
  QUENCH_KERNEL int64_t first_row(int64_t square) const { return square / across() * kSide; }
  QUENCH_KERNEL int64_t first_column(int64_t square) const { return square % across() * kSide; }
};

// One more than the side, so that a column of it lies in 32 different banks.
template <typename T>
struct SharedSquare {
  T values[Squares::kSide][Squares::kSide + 1];
};

// to[k, r] = from[r, order[k]], and 0 for a dead column.
template <typename From, typename To>
struct TurnIn {
  static constexpr int kThreads = Squares::kThreads;
  using Shared = SharedSquare<To>;

  Squares squares;       // of `from`
  const From* from;      // [rows, columns]
  const int32_t* order;  // [columns]
  const uint8_t* dead;   // [columns]
  To* to;                // [columns, rows]

  int64_t blocks() const { return squares.count(); }

  QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
    const int64_t first_row = squares.first_row(block.index());
    const int64_t first_column = squares.first_column(block.index());
    block.each([&](int thread) {
      const int lane = thread % Squares::kSide;
      for (int i = thread / Squares::kSide; i < Squares::kSide; i += Squares::kWarps) {
        if (first_row + i < squares.rows && first_column + lane < squares.columns) {
          const int64_t column = order[first_column + lane];
          const From value = from[(first_row + i) * squares.columns + column];
          shared.values[i][lane] = dead[column] != 0 ? To{0} : static_cast<To>(value);
        }
      }
    });
    block.each([&](int thread) {
      const int lane = thread % Squares::kSide;
      for (int i = thread / Squares::kSide; i < Squares::kSide; i += Squares::kWarps) {
        if (first_row + lane < squares.rows && first_column + i < squares.columns) {
          to[(first_column + i) * squares.rows + first_row + lane] = shared.values[lane][i];
        }
      }
    });
  }
};

// to[r, order[k]] = from[k, r]; `order` null: to[r, k].
template <typename T>
struct TurnOut {
  static constexpr int kThreads = Squares::kThreads;
  using Shared = SharedSquare<T>;

  Squares squares;       // of `to`
  const T* from;         // [columns, rows]
  const int32_t* order;  // [columns]
  T* to;                 // [rows, columns]

  int64_t blocks() const { return squares.count(); }

  QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
    const int64_t first_row = squares.first_row(block.index());
    const int64_t first_column = squares.first_column(block.index());
    block.each([&](int thread) {
      const int lane = thread % Squares::kSide;
      for (int i = thread / Squares::kSide; i < Squares::kSide; i += Squares::kWarps) {
        if (first_row + lane < squares.rows && first_column + i < squares.columns) {
          shared.values[lane][i] = from[(first_column + i) * squares.rows + first_row + lane];
        }
      }
    });
    block.each([&](int thread) {
      const int lane = thread % Squares::kSide;
      for (int i = thread / Squares::kSide; i < Squares::kSide; i += Squares::kWarps) {
        if (first_row + i < squares.rows && first_column + lane < squares.columns) {
          const int64_t k = first_column + lane;
          const int64_t column = order == nullptr ? k : order[k];
          to[(first_row + i) * squares.columns + column] = shared.values[i][lane];
        }
      }
    });
  }
};

}  // namespace quench::quantizers
