// The small kernel of kernel.hpp: one tile of a result, kTileRows x 2 vectors of sums. Beside 2
// vectors of b and 1 of a they fill 31 of 32 registers.
#pragma once

#include <cstdint>

namespace quench::matrix {

inline constexpr int64_t kTileRows = 14;
template <typename T>
inline constexpr int64_t kTileColumns = 128 / sizeof(T);

// Rows of a, where they lie or copied.
template <typename T>
struct Panel {
  const T* data;
  int64_t stride;
  bool deep;  // each row's depth is contiguous, rows `stride` apart; else the other way around
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
  const T* bias;  // of these columns, or null; only where To is T
};

// a has kTileRows rows that may be read, whatever tile.rows says; b is a panel
// [depth, kTileColumns].
template <typename T, typename To>
void run_tile(const Panel<T>& a, const T* b, int64_t depth, const Tile<T, To>& tile);

}  // namespace quench::matrix
