// The column loop of GPTQ over one panel of columns and some rows.
//
// Weights lie transposed, one row of memory per column in the order of quantization, so that the
// innermost loops run over rows of the layer, which are independent of each other.
#pragma once

#include <cstdint>

#include "quantizers/grid/search.hpp"

namespace quench::quantizers {

// Where a column's grid comes from, and when.
enum class GridSource {
  kGiven,    // whole rows or static groups: known before the loop
  kCurrent,  // at a group's first column, from its columns with every update so far
  kStale     // for all groups that start in a panel, from their columns at the panel's start
};

// One panel: columns [begin, end) of the order of quantization. T is the type in which the layer
// keeps weights outside the panel and hands on errors. Inside the panel all is float64 for both:
// weights from where they are loaded, U, updates, errors until they are stored, grids and the loss.
template <typename T>
struct Panel {
  int64_t rows;     // of the layer
  int64_t columns;  // of the layer
  int64_t begin;
  int64_t end;
  GridKind kind;
  GridSource source;
  int64_t group_size;        // columns, in the order of quantization, unless kGiven
  const int32_t* group;      // [columns], group of the k-th column
  const double* upper;       // [columns, columns], U
  const double* pivots;      // [columns], U_ii
  const T* weights;          // [columns, rows], without this panel's own updates
  double* scales;            // [groups, rows]
  double* zeros;             // [groups, rows]
  uint8_t* codes;            // [columns, rows]
  T* errors;                 // [end - begin, rows], (w - q) / U_ii
  const double* correction;  // [columns, columns], P of asymmetry.hpp, or null
  T* negated;                // [end - begin, rows], -w of each column; only with `correction`
  double* loss;              // [rows], grows by (w - q)^2 / U_ii^2 / 2
};

// Rows of a layer that one call works on: their part of a panel of 128 columns is 64 KiB and stays
// in the L2 cache.
inline constexpr int64_t kPanelRows = 64;

// Quantizes columns [begin, end) of rows [first, last), last - first <= kPanelRows. A group of
// kCurrent that starts inside the panel must end inside it or start at its first column.
void quantize_panel(const Panel<float>& panel, int64_t first, int64_t last);
void quantize_panel(const Panel<double>& panel, int64_t first, int64_t last);

// Grids of one group out of the columns listed in [from, to) of `weights` [columns, rows], for rows
// [first, last); results at scales[r], zeros[r].
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
