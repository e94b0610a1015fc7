// The inner kernel of kernel.hpp computes one tile of a result: some rows x 2 vectors of sums. The
// sums stay in registers, with 2 vectors of b and 1 of a: 14 rows in 32 registers, 6 in 16.
#pragma once

#include <cstdint>

#include "shared/matrix/half.hpp"
#include "shared/matrix/isa.hpp"

namespace quench::matrix {

constexpr int64_t tile_rows(Isa isa) {
  return isa == Isa::kAvx512 ? 14 : 6;
}
template <typename T>
constexpr int64_t tile_columns(Isa isa) {
  const int64_t bytes = isa == Isa::kAvx512 ? 128 : isa == Isa::kAvx2 ? 64 : 32;
  return bytes / static_cast<int64_t>(sizeof(T));
}

// The rows of a that a tile of `rows` rows reads, which may be a few more.
constexpr int64_t rows_read(Isa isa, int64_t rows) {
  const int64_t full = tile_rows(isa);
  return rows <= 1 ? 1 : rows <= 2 ? 2 : rows <= 4 ? 4 : rows <= 8 && full > 8 ? 8 : full;
}

// Rows of operand a, in place or in a packed copy.
template <typename T>
struct Panel {
  const T* data;
  int64_t stride;
  // True: each row's values are contiguous, and rows lie `stride` apart. False: the rows of one k
  // are contiguous, and values of k lie `stride` apart.
  bool k_contiguous;
};

// to = (add ? to : bias, or 0) + factor * sums
template <typename T, typename To>
struct Tile {
  To* to;
  int64_t stride;
  int64_t rows;
  int64_t columns;
  double factor;
  bool add;
  const T* bias;  // for these columns, or null; only if To is T
};

// a has rows_read(tile.rows) rows; b is a packed panel [depth, tile_columns].
template <typename T, typename To>
void run_tile(Isa isa, const Panel<T>& a, const T* b, int64_t depth, const Tile<Sum<T>, To>& tile);
// With VDPBF16PS whatever `isa` is: only where multiplies_pairs().
template <>
void run_tile(Isa isa, const Panel<Bfloat16Pair>& a, const Bfloat16Pair* b, int64_t depth,
              const Tile<float, float>& tile);

}  // namespace quench::matrix
