// Column sums of a matrix. libtorch would split them by the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "quench/kit/host.hpp"

namespace quench::decoder {

// Rows that are summed one after the other. The sums of such ranges are then added in order.
constexpr uint64_t kSumRange = 256;

// Calls add(row, sums) for each row, which adds the row's values to sums [columns] (type Wide), and
// adds the total to `to` [columns] (type T).
template <typename Wide, typename T, typename Add>
void add_over_rows(uint64_t rows, uint64_t columns, T* to, Add&& add) {
  const uint64_t ranges = (rows + kSumRange - 1) / kSumRange;
  std::vector<Wide> partial(ranges * columns, Wide{0});
  kit::parallel_for(rows, kSumRange, [&](uint64_t begin, uint64_t end) {
    Wide* sums = partial.data() + begin / kSumRange * columns;
    for (uint64_t row = begin; row < end; ++row) {
      add(row, sums);
    }
  });
  for (uint64_t c = 0; c < columns; ++c) {
    double total = 0;
    for (uint64_t range = 0; range < ranges; ++range) {
      total += static_cast<double>(partial[range * columns + c]);
    }
    to[c] = static_cast<T>(static_cast<double>(to[c]) + total);
  }
}

// Adds the column sums of x [N, C] to `to` [C]: float32 or float64, contiguous.
void add_column_sums(const at::Tensor& x, const at::Tensor& to);

}  // namespace quench::decoder
