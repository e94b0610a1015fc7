// The column loop of GPTQ, over one panel of columns and some rows.
//
// Weights are transposed: each column is contiguous, and columns are in the order of quantization.
// So the innermost loops run over rows of the layer, which are independent.
#pragma once

#include <cstdint>

#include "quantizers/grid/search.hpp"

namespace quench::number_formats {
struct NumberFormat;
}

namespace quench::quantizers {

// Which weights a column's grid is computed from, and when.
enum class GridSource {
  kGiven,    // whole rows or static groups: known before the loop
  kCurrent,  // at a group's first column, from its columns after all updates so far
  kStale     // at a panel's start, for all groups that start in the panel
};

// One panel: columns [begin, end) in the order of quantization. T is the type of weights outside
// the panel and of the errors passed on. Inside the panel everything is float64 for both types:
// loaded weights, U, updates, errors until they are stored, grids and the loss.
template <typename T>
struct Panel {
  int64_t rows;     // rows of the layer
  int64_t columns;  // columns of the layer
  int64_t begin;
  int64_t end;
  GridKind kind;
  GridSource source;
  int64_t group_size;        // columns per group, in the order of quantization; unused with kGiven
  const int32_t* group;      // [columns], group of the k-th column
  const double* upper;       // [columns, columns], U
  const double* pivots;      // [columns], U_ii
  const T* weights;          // [columns, rows], without the updates of this panel
  double* scales;            // [groups, rows]
  double* zeros;             // [groups, rows]
  uint8_t* codes;            // [columns, rows]
  T* errors;                 // [end - begin, rows], (w - q) / U_ii
  const double* correction;  // [columns, columns], P of asymmetry.hpp, or null
  T* negated;                // [end - begin, rows], -w of each column; only with `correction`
  double* loss;              // [rows]; adds (w - q)^2 / U_ii^2 / 2
  // Rounds to this format instead of to grids, which then have scales alone, of the least squared
  // error if kind.mse is not 0; null: to the grids.
  const number_formats::NumberFormat* format = nullptr;
  double tensor_scale = 1;
};

// Rows of a layer per call: their part of a panel of 128 columns takes 64 KiB and stays in the L2
// cache.
inline constexpr int64_t kPanelRows = 64;

// Quantizes columns [begin, end) of rows [first, last), where last - first <= kPanelRows. With
// kCurrent, a group that starts inside the panel must end inside it or start at its first column.
void quantize_panel(const Panel<float>& panel, int64_t first, int64_t last);
void quantize_panel(const Panel<double>& panel, int64_t first, int64_t last);

// Where the panel that begins at `begin` ends. A panel is a block of `block` columns. If grids come
// from current weights, a panel ends early so that a group that starts inside it also ends inside
// it. This only affects rounding.
inline int64_t panel_end(int64_t begin, int64_t columns, int64_t block, GridSource source,
                         int64_t group_size) {
  int64_t end = begin + block;
  if (source == GridSource::kCurrent && group_size <= block) {
    end = begin + block / group_size * group_size;
  } else if (source == GridSource::kCurrent) {
    end = end < (begin / group_size + 1) * group_size ? end : (begin / group_size + 1) * group_size;
  }
  return end < columns ? end : columns;
}

// The grids of one group, from columns [from, to) of `weights` [columns, rows], for rows [first,
// last). Writes to scales[r], zeros[r].
template <typename T>
void grids_of_columns(const T* weights, int64_t rows, int64_t from, int64_t to, int64_t first,
                      int64_t last, GridKind kind, double* scales, double* zeros) {
  T low[kPanelRows] = {};
  T high[kPanelRows] = {};
  const int64_t count = last - first;
  for (int64_t c = from; c < to; ++c) {
    const T* column = weights + c * rows + first;
    for (int64_t r = 0; r < count; ++r) {
      low[r] = column[r] < low[r] ? column[r] : low[r];
      high[r] = column[r] > high[r] ? column[r] : high[r];
    }
  }
  for (int64_t r = 0; r < count; ++r) {
    const Grid grid =
        grid_of_values(weights + from * rows + first + r, rows, to - from, low[r], high[r], kind);
    scales[first + r] = grid.scale;
    zeros[first + r] = grid.zero;
  }
}

}  // namespace quench::quantizers
