// int8 codes of rows and what becomes of the integer sums, as kernels. Codes, maxima and values are
// those of vectorwise.hpp and linear.cpp to the bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// Codes of a float32 matrix [rows, columns], C order, whose values are finite. A warp takes a row.
struct CodeRows {
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kWarps * cuda::kWarp;

  const float* values;
  int64_t rows;
  int64_t columns;
  int64_t stride;  // of the codes' rows, at least `columns`; what lies past a row is not written
  float limit;     // values at least this large are not coded: their codes are 0
  const bool* outlier;  // [columns], columns whose codes are all 0; or null
  int8_t* codes;
  float* maxima;  // [rows], the largest magnitude below the limit

  int64_t blocks() const { return (rows + kWarps - 1) / kWarps; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<float, kThreads> largest;
    block.each([&](int thread) {
      const int64_t row = row_of(block, thread);
      float found = 0;
      for (int64_t c = thread % cuda::kWarp; c < columns && row < rows; c += cuda::kWarp) {
        const float size = std::fabs(values[row * columns + c]);
        found = size < limit && size > found ? size : found;
      }
      largest[thread] = found;
    });
    cuda::combine_warps(block, largest, [](float a, float b) { return b > a ? b : a; });
    block.each([&](int thread) {
      const int64_t row = row_of(block, thread);
      if (row < rows) {
        code(row, thread % cuda::kWarp, largest[thread]);
      }
    });
  }

 private:
  QUENCH_KERNEL static int64_t row_of(const cuda::Block& block, int thread) {
    return block.index() * kWarps + thread / cuda::kWarp;
  }

  QUENCH_KERNEL void code(int64_t row, int lane, float largest) const {
    if (lane == 0) {
      maxima[row] = largest;
    }
    const float factor = largest > 0 ? 127.0F / largest : 0;
    const bool usable = std::isfinite(factor);
    for (int64_t c = lane; c < columns; c += cuda::kWarp) {
      const float x = values[row * columns + c];
      const float kept = std::fabs(x) < limit ? x : 0;
      const float made = usable ? kept * factor : kept / largest * 127.0F;
      const bool is_outlier = outlier != nullptr && outlier[c];
      codes[row * stride + c] = is_outlier ? int8_t{0} : static_cast<int8_t>(std::rint(made));
    }
  }
};

// What sums of products of codes stand for: sum * (a / 127^2 * b), with the maxima a of the row and
// b of the column.
template <typename T>
struct DecodeSums {
  static constexpr int kThreads = 8 * cuda::kWarp;

  const int32_t* sums;  // rows of `stride`
  int64_t rows;
  int64_t columns;
  int64_t stride;
  const float* row_maxima;     // [rows]
  const float* column_maxima;  // [columns]
  T* to;                       // [rows, columns]

  int64_t blocks() const { return (rows * columns + kThreads - 1) / kThreads; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    block.each([&](int thread) {
      const int64_t i = block.index() * kThreads + thread;
      if (i >= rows * columns) {
        return;
      }
      const int64_t row = i / columns;
      const int64_t column = i % columns;
      const double factor = row_maxima[row] / (127.0 * 127.0);
      to[i] = static_cast<T>(sums[row * stride + column] * (factor * column_maxima[column]));
    });
  }
};

}  // namespace quench::quantizers
