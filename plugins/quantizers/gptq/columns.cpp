#include "quantizers/gptq/columns.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "quantizers/number_format/scale_rule.hpp"
#include "quench/kit/multiversion.hpp"
#include "shared/number_formats/scale_chooser.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kRun = 8;  // columns whose errors are applied together to the rest of the panel

// The panel's columns for some rows while they are quantized, [end - begin][kPanelRows], in cache.
using Tile = std::vector<double>;

// Extends low and high, both [kPanelRows], to cover `count` values.
template <typename T>
void widen(const T* values, int64_t count, double* low, double* high) {
  for (int64_t r = 0; r < count; ++r) {
    low[r] = values[r] < low[r] ? values[r] : low[r];
    high[r] = values[r] > high[r] ? values[r] : high[r];
  }
}

using ScaleChooser = number_formats::ScaleChooser;

// The grid of the group that starts at `column`, from the tile and, past the panel, from the
// weights. `chooser` is that of the format's scales, where there is one.
template <typename T>
void start_group(const Panel<T>& panel, const Tile& tile, int64_t column, int64_t first,
                 int64_t last, std::optional<ScaleChooser>& chooser) {
  const int64_t group_end = std::min(column + panel.group_size, panel.columns);
  const int64_t inside = std::min(group_end, panel.end);
  double low[kPanelRows] = {};
  double high[kPanelRows] = {};
  const int64_t count = last - first;
  for (int64_t c = column; c < inside; ++c) {
    widen(tile.data() + (c - panel.begin) * kPanelRows, count, low, high);
  }
  for (int64_t c = inside; c < group_end; ++c) {
    widen(panel.weights + c * panel.rows + first, count, low, high);
  }
  const int64_t at = panel.group[column] * panel.rows + first;
  const bool looks_at_all = panel.kind.mse > 0 || chooser.has_value();
  std::vector<double> values(looks_at_all ? static_cast<size_t>(group_end - column) : 0);
  for (int64_t r = 0; r < count; ++r) {
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t c = column + static_cast<int64_t>(i);
      values[i] = c < inside ? tile[static_cast<size_t>((c - panel.begin) * kPanelRows + r)]
                             : static_cast<double>(panel.weights[c * panel.rows + first + r]);
    }
    const auto value_count = static_cast<int64_t>(values.size());
    if (chooser) {
      panel.scales[at + r] = chooser->scale_of(values.data(), value_count);
      continue;
    }
    const Grid grid = grid_of_values(values.data(), 1, value_count, low[r], high[r], panel.kind);
    panel.scales[at + r] = grid.scale;
    panel.zeros[at + r] = grid.zero;
  }
}

QUENCH_MULTIVERSION
void convert(const float* __restrict from, int64_t count, double* __restrict to) {
  std::copy_n(from, count, to);
}
QUENCH_MULTIVERSION
void convert(const double* __restrict from, int64_t count, float* __restrict to) {
  std::transform(from, from + count, to, [](double value) { return static_cast<float>(value); });
}
void convert(const double* from, int64_t count, double* to) {
  std::copy_n(from, count, to);
}

// Codes and errors of one column; all arrays are indexed by row.
QUENCH_MULTIVERSION
void code_rows(const double* __restrict x, const double* __restrict scale,
               const double* __restrict zero, double max_code, double pivot, int64_t count,
               uint8_t* __restrict codes, double* __restrict errors, double* __restrict loss) {
  for (int64_t r = 0; r < count; ++r) {
    const double code = code_of(x[r], scale[r], zero[r], max_code);
    const double error = (x[r] - scale[r] * (code - zero[r])) / pivot;
    codes[r] = static_cast<uint8_t>(static_cast<int32_t>(code));
    errors[r] = error;
    loss[r] += error * error / 2;
  }
}

// The same with the codes of a format; `elements` has the element of each.
void code_rows(const number_formats::NumberFormat& format, const double* elements, const double* x,
               const double* scale, double pivot, int64_t count, uint8_t* codes, double* errors,
               double* loss) {
  for (int64_t r = 0; r < count; ++r) {
    codes[r] = format.code_of(x[r], scale[r]);
    const double error = (x[r] - scale[r] * elements[codes[r]]) / pivot;
    errors[r] = error;
    loss[r] += error * error / 2;
  }
}

// tile[j] -= errors[k] * U[k, j] for each k in order and j in [from, to). `u` points to U[k0, j =
// 0] of the panel; rows of U lie `stride` apart.
QUENCH_MULTIVERSION
void update_rows(double* __restrict tile, const double* __restrict errors,
                 const double* __restrict u, int64_t stride, int64_t run, int64_t from,
                 int64_t to) {
  for (int64_t j = from; j < to; ++j) {
    double* __restrict column = tile + j * kPanelRows;
    if (run == kRun) {
      for (int64_t r = 0; r < kPanelRows; ++r) {
        double value = column[r];
        for (int64_t k = 0; k < kRun; ++k) {
          value -= errors[k * kPanelRows + r] * u[k * stride + j];
        }
        column[r] = value;
      }
      continue;
    }
    for (int64_t k = 0; k < run; ++k) {
      const double factor = u[k * stride + j];
      for (int64_t r = 0; r < kPanelRows; ++r) {
        column[r] -= errors[k * kPanelRows + r] * factor;
      }
    }
  }
}

// Updates the tile in runs of up to kRun columns: columns inside a run after every column, later
// columns once per run. The order of the subtractions is the same as without runs, and so are the
// bits.
template <typename T>
void quantize_rows(const Panel<T>& panel, int64_t first, int64_t last) {
  const int64_t width = panel.end - panel.begin;
  const int64_t count = last - first;
  Tile tile(static_cast<size_t>(width * kPanelRows));
  for (int64_t c = 0; c < width; ++c) {
    convert(panel.weights + (panel.begin + c) * panel.rows + first, count,
            tile.data() + c * kPanelRows);
  }
  std::optional<ScaleChooser> chooser;
  if (panel.format != nullptr) {
    chooser.emplace(*panel.format, scale_rule_of(panel.kind), panel.tensor_scale);
  }
  const auto starts_group = [&](int64_t c) {
    return panel.source != GridSource::kGiven && c % panel.group_size == 0;
  };
  for (int64_t c = panel.begin; c < panel.end && panel.source == GridSource::kStale; ++c) {
    if (starts_group(c)) {
      start_group(panel, tile, c, first, last, chooser);
    }
  }
  const std::array<double, 256> elements = panel.format != nullptr
                                               ? number_formats::elements_of(*panel.format)
                                               : std::array<double, 256>{};
  double errors[kRun * kPanelRows] = {};
  double negated[kRun * kPanelRows] = {};
  for (int64_t c = panel.begin; c < panel.end;) {
    if (starts_group(c) && panel.source == GridSource::kCurrent) {
      start_group(panel, tile, c, first, last, chooser);
    }
    int64_t run_end = c + 1;
    while (run_end < panel.end && run_end < c + kRun && !starts_group(run_end)) {
      ++run_end;
    }
    for (int64_t k = c; k < run_end; ++k) {
      const int64_t grid = panel.group[k] * panel.rows + first;
      double* own = errors + (k - c) * kPanelRows;
      const double* values = tile.data() + (k - panel.begin) * kPanelRows;
      uint8_t* codes = panel.codes + k * panel.rows + first;
      if (panel.format != nullptr) {
        code_rows(*panel.format, elements.data(), values, panel.scales + grid, panel.pivots[k],
                  count, codes, own, panel.loss + first);
      } else {
        code_rows(values, panel.scales + grid, panel.zeros + grid, panel.kind.max_code(),
                  panel.pivots[k], count, codes, own, panel.loss + first);
      }
      convert(own, count, panel.errors + (k - panel.begin) * panel.rows + first);
      update_rows(tile.data(), own, panel.upper + k * panel.columns + panel.begin, panel.columns, 1,
                  k + 1 - panel.begin, run_end - panel.begin);
      if (panel.correction != nullptr) {
        double* column_negated = negated + (k - c) * kPanelRows;
        const double* column = tile.data() + (k - panel.begin) * kPanelRows;
        std::transform(column, column + kPanelRows, column_negated, std::negate<>());
        convert(column_negated, count, panel.negated + (k - panel.begin) * panel.rows + first);
        update_rows(tile.data(), column_negated, panel.correction + k * panel.columns + panel.begin,
                    panel.columns, 1, k + 1 - panel.begin, run_end - panel.begin);
      }
    }
    update_rows(tile.data(), errors, panel.upper + c * panel.columns + panel.begin, panel.columns,
                run_end - c, run_end - panel.begin, width);
    if (panel.correction != nullptr) {
      update_rows(tile.data(), negated, panel.correction + c * panel.columns + panel.begin,
                  panel.columns, run_end - c, run_end - panel.begin, width);
    }
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
