// Rounding of rows of inputs as kernels: a warp takes what shares a range, then what shares a
// scale. Ranges do not depend on the order in which they are found, and the arithmetic of
// value_rule.hpp is compiled from the same source, so the bits are those of InputRounding::round().
#pragma once

#include <cmath>
#include <cstdint>

#include "quantizers/inputs/value_rule.hpp"
#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// Rows [rows, columns] in C order, in parts of consecutive columns, a warp each.
struct RowParts {
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kWarps * cuda::kWarp;

  int64_t rows;
  int64_t columns;
  int64_t size;         // of a part, which divides a row
  const uint8_t* kept;  // [columns], a flag for those that stay in float; or null

  int64_t count() const { return rows * columns / size; }
  int64_t blocks() const { return (count() + kWarps - 1) / kWarps; }
  QUENCH_BOTH bool keeps(int64_t column) const { return kept != nullptr && kept[column] != 0; }

  QUENCH_KERNEL static int64_t number(const cuda::Block& block, int thread) {
    return block.index() * kWarps + thread / cuda::kWarp;
  }
  // Calls `use(row, column)` for the elements that are a thread's.
  template <typename Use>
  QUENCH_KERNEL void for_own(const cuda::Block& block, int thread, const Use& use) const {
    const int64_t parts = columns / size;
    const int64_t row = number(block, thread) / parts;
    const int64_t first = number(block, thread) % parts * size;
    for (int64_t i = thread % cuda::kWarp; i < size && row < rows; i += cuda::kWarp) {
      use(row, first + i);
    }
  }
};

// The least and the largest value of each part, 0 included, of columns that do not stay in float.
template <typename T>
struct InputRanges {
  static constexpr int kThreads = RowParts::kThreads;

  const T* values;
  RowParts parts;
  Range* ranges;  // [rows, parts of a row]

  int64_t blocks() const { return parts.blocks(); }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<Range, kThreads> own;
    block.each([&](int thread) {
      Range range{0, 0};
      parts.for_own(block, thread, [&](int64_t row, int64_t column) {
        if (!parts.keeps(column)) {
          const auto value = static_cast<double>(values[row * parts.columns + column]);
          range.min = value < range.min ? value : range.min;
          range.max = value > range.max ? value : range.max;
        }
      });
      own[thread] = range;
    });
    cuda::combine_warps(block, own, [](const Range& a, const Range& b) {
      return Range{a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
    });
    block.each([&](int thread) {
      const int64_t number = RowParts::number(block, thread);
      if (thread % cuda::kWarp == 0 && number < parts.rows * (parts.columns / parts.size)) {
        ranges[number] = own[thread];
      }
    });
  }
};

// Rounds in place; a part is what shares a scale.
template <typename T>
struct RoundInputs {
  static constexpr int kThreads = RowParts::kThreads;

  T* values;
  RowParts parts;
  ValueRule rule;
  // That of a row and a column is at row * row_stride + column / share * share_stride.
  const Range* ranges;
  int64_t share;
  int64_t row_stride;
  int64_t share_stride;
  int32_t* refused;  // becomes 1 if a value is not finite, before or after

  int64_t blocks() const { return parts.blocks(); }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<double, kThreads> largest;
    block.each([&](int thread) {
      double found = 0;
      parts.for_own(block, thread, [&](int64_t row, int64_t column) {
        const auto value = static_cast<double>(values[row * parts.columns + column]);
        if (!std::isfinite(value)) {
          *refused = 1;
        }
        const double magnitude = std::fabs(value);
        found = !parts.keeps(column) && magnitude > found ? magnitude : found;
      });
      largest[thread] = found;
    });
    cuda::combine_warps(block, largest, [](double a, double b) { return a > b ? a : b; });
    block.each([&](int thread) {
      rule.with([&](const auto& own) { round_own(block, thread, own, largest[thread]); });
    });
  }

 private:
  template <typename Rule>
  QUENCH_KERNEL void round_own(const cuda::Block& block, int thread, const Rule& own,
                               double largest) const {
    const int64_t count = parts.columns / parts.size;
    const int64_t row = RowParts::number(block, thread) / count;
    if (row >= parts.rows) {
      return;
    }
    const int64_t first = RowParts::number(block, thread) % count * parts.size;
    const Range range = ranges[row * row_stride + first / share * share_stride];
    const auto scale = own.scale_of(range, largest);
    parts.for_own(block, thread, [&](int64_t, int64_t column) {
      T& value = values[row * parts.columns + column];
      const double rounded = own.rounded(static_cast<double>(value), scale);
      if (parts.keeps(column)) {
        return;
      }
      if (!std::isfinite(rounded)) {
        *refused = 1;
      }
      value = static_cast<T>(rounded);
    });
  }
};

}  // namespace quench::quantizers
