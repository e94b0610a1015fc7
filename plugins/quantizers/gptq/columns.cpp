#include "quantizers/gptq/columns.hpp"

#include <algorithm>
#include <vector>

#include "quantizers/gptq/multiversion.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kRun = 8;  // columns whose errors are applied to the rest of the panel at once

// Columns that a panel's rows are worked on in: [end - begin][kPanelRows], in cache.
template <typename T>
using Tile = std::vector<T>;

// Grid of the group that starts at `column`, out of the tile and, past the panel, the weights.
template <typename T>
void start_group(const Panel<T>& panel, const Tile<T>& tile, int64_t column, int64_t first,
                 int64_t last) {
  const int64_t group_end = std::min(column + panel.group_size, panel.columns);
  const int64_t inside = std::min(group_end, panel.end);
  T low[kPanelRows] = {};
  T high[kPanelRows] = {};
  const int64_t count = last - first;
  for (int64_t c = column; c < group_end; ++c) {
    const T* values = c < inside ? tile.data() + (c - panel.begin) * kPanelRows
                                 : panel.weights + c * panel.rows + first;
    for (int64_t r = 0; r < count; ++r) {
      low[r] = values[r] < low[r] ? values[r] : low[r];
      high[r] = values[r] > high[r] ? values[r] : high[r];
    }
  }
  const int64_t at = panel.group[column] * panel.rows + first;
  for (int64_t r = 0; r < count; ++r) {
    const Grid grid = grid_of(low[r], high[r], panel.kind);
    panel.scales[at + r] = grid.scale;
    panel.zeros[at + r] = grid.zero;
  }
}

// Codes and errors of one column; all arrays are over rows.
template <typename T>
[[gnu::always_inline]] inline void code_column(const T* __restrict x,
                                               const double* __restrict scale,
                                               const double* __restrict zero, double max_code,
                                               double pivot, int64_t count,
                                               uint8_t* __restrict codes, T* __restrict errors,
                                               double* __restrict loss) {
  for (int64_t r = 0; r < count; ++r) {
    const double value = x[r];
    const double code = code_of(value, scale[r], zero[r], max_code);
    const double error = (value - scale[r] * (code - zero[r])) / pivot;
    codes[r] = static_cast<uint8_t>(static_cast<int32_t>(code));
    errors[r] = static_cast<T>(error);
    loss[r] += error * error / 2;
  }
}

QUENCH_MULTIVERSION
void code_rows(const float* x, const double* scale, const double* zero, double max_code,
               double pivot, int64_t count, uint8_t* codes, float* errors, double* loss) {
  code_column(x, scale, zero, max_code, pivot, count, codes, errors, loss);
}
QUENCH_MULTIVERSION
void code_rows(const double* x, const double* scale, const double* zero, double max_code,
               double pivot, int64_t count, uint8_t* codes, double* errors, double* loss) {
  code_column(x, scale, zero, max_code, pivot, count, codes, errors, loss);
}

// tile[j] -= errors[k] * U[k, j] for k in turn and j in [from, to); `u` points at U[k0, j = 0] of
// the panel, `stride` apart.
template <typename T>
[[gnu::always_inline]] inline void update(T* __restrict tile, const T* __restrict errors,
                                          const T* __restrict u, int64_t stride, int64_t run,
                                          int64_t from, int64_t to) {
  for (int64_t j = from; j < to; ++j) {
    T* __restrict column = tile + j * kPanelRows;
    if (run == kRun) {
      for (int64_t r = 0; r < kPanelRows; ++r) {
        T value = column[r];
        for (int64_t k = 0; k < kRun; ++k) {
          value -= errors[k * kPanelRows + r] * u[k * stride + j];
        }
        column[r] = value;
      }
      continue;
    }
    for (int64_t k = 0; k < run; ++k) {
      const T factor = u[k * stride + j];
      for (int64_t r = 0; r < kPanelRows; ++r) {
        column[r] -= errors[k * kPanelRows + r] * factor;
      }
    }
  }
}

QUENCH_MULTIVERSION
void update_rows(float* tile, const float* errors, const float* u, int64_t stride, int64_t run,
                 int64_t from, int64_t to) {
  update(tile, errors, u, stride, run, from, to);
}
QUENCH_MULTIVERSION
void update_rows(double* tile, const double* errors, const double* u, int64_t stride, int64_t run,
                 int64_t from, int64_t to) {
  update(tile, errors, u, stride, run, from, to);
}

// The tile is updated in runs of up to kRun columns: inside a run after every column, the columns
// past it once. The subtractions come in the same order as without runs, so the bits are the same.
template <typename T>
void quantize_rows(const Panel<T>& panel, int64_t first, int64_t last) {
  const int64_t width = panel.end - panel.begin;
  const int64_t count = last - first;
  Tile<T> tile(static_cast<size_t>(width * kPanelRows));
  for (int64_t c = 0; c < width; ++c) {
    const T* from = panel.weights + (panel.begin + c) * panel.rows + first;
    std::copy(from, from + count, tile.data() + c * kPanelRows);
  }
  const auto starts_group = [&](int64_t c) {
    return panel.source != GridSource::kGiven && c % panel.group_size == 0;
  };
  for (int64_t c = panel.begin; c < panel.end && panel.source == GridSource::kStale; ++c) {
    if (starts_group(c)) {
      start_group(panel, tile, c, first, last);
    }
  }
  T errors[kRun * kPanelRows] = {};
  for (int64_t c = panel.begin; c < panel.end;) {
    if (starts_group(c) && panel.source == GridSource::kCurrent) {
      start_group(panel, tile, c, first, last);
    }
    int64_t run_end = c + 1;
    while (run_end < panel.end && run_end < c + kRun && !starts_group(run_end)) {
      ++run_end;
    }
    for (int64_t k = c; k < run_end; ++k) {
      const int64_t grid = panel.group[k] * panel.rows + first;
      T* own = errors + (k - c) * kPanelRows;
      code_rows(tile.data() + (k - panel.begin) * kPanelRows, panel.scales + grid,
                panel.zeros + grid, panel.kind.max_code(), panel.pivots[k], count,
                panel.codes + k * panel.rows + first, own, panel.loss + first);
      std::copy(own, own + count, panel.errors + (k - panel.begin) * panel.rows + first);
      update_rows(tile.data(), own, panel.upper + k * panel.columns + panel.begin, panel.columns, 1,
                  k + 1 - panel.begin, run_end - panel.begin);
    }
    update_rows(tile.data(), errors, panel.upper + c * panel.columns + panel.begin, panel.columns,
                run_end - c, run_end - panel.begin, width);
    c = run_end;
  }
}

}  // namespace

void quantize_panel(const Panel<float>& panel, int64_t first, int64_t last) {
  quantize_rows(panel, first, last);
}
void quantize_panel(const Panel<double>& panel, int64_t first, int64_t last) {
  quantize_rows(panel, first, last);
}

}  // namespace quench::quantizers
