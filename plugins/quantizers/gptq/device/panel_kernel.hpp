// The column loop over one panel as a kernel: what quantize_panel() does, on 32 rows a block.
//
// Rows are independent, so blocks are. A block holds its rows of the panel in shared memory, in
// float64; a lane is a row. Columns go in runs of up to eight, whose rows of U are brought to
// shared memory first: the first warp rounds a run's columns one after the other, as each needs the
// errors of those before, and then all eight warps apply the run's errors to the rest of the panel.
// What the first warp waits for is then its own arithmetic, not memory. Every weight sees the same
// subtractions in the same order as in the plain loop, one a column, so the result is that loop's
// to the bit.
//
// With GPTAQ's correction a column k takes (w - q) / U_kk * U_kj - w * P_kj off weight j at once,
// as the plain reference does. quantize_panel() takes off the parts of a run one after the other,
// which rounds differently.
#pragma once

#include "quantizers/gptq/columns.hpp"
#include "quantizers/grid/grid_numbers.hpp"
#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// Numbers: what is rounded to (grid/grid_numbers.hpp), which the panel's `kind` and `format` do not
// say here.
template <typename T, typename Numbers = GridNumbers>
struct QuantizePanel {
  static constexpr int kRows = cuda::kWarp;  // of the layer, a block
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kRows * kWarps;
  static constexpr int kRun = 8;
  static constexpr int kWidest = 128;  // columns of a panel

  Panel<T> panel;
  Numbers numbers;

  int64_t blocks() const { return (panel.rows + kRows - 1) / kRows; }

  struct Shared {
    double tile[kWidest][kRows];
    double errors[kRun][kRows];
    double negated[kRun][kRows];  // -w, for the correction
    // A group's grid is found before a run begins.
    union {
      struct {
        double low[kWarps][kRows];
        double high[kWarps][kRows];
        Tried tried[kWarps][kRows];
      } grid;
      double upper[kRun][kWidest];  // of the run's columns, from the first of the panel on
    };
  };

  QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
    block.each([&](int thread) {
      const Place at = place_of(block, thread);
      for (int64_t c = panel.begin + at.warp; c < panel.end && at.inside; c += kWarps) {
        shared.tile[c - panel.begin][at.lane] =
            static_cast<double>(panel.weights[c * panel.rows + at.row]);
      }
    });
    for (int64_t c = panel.begin; c < panel.end && panel.source == GridSource::kStale; ++c) {
      if (starts_group(c)) {
        start_group(block, shared, c);
      }
    }
    for (int64_t c = panel.begin; c < panel.end;) {
      if (panel.source == GridSource::kCurrent && starts_group(c)) {
        start_group(block, shared, c);
      }
      int64_t run_end = c + 1;
      while (run_end < panel.end && run_end < c + kRun && !starts_group(run_end)) {
        ++run_end;
      }
      block.each([&](int thread) {
        for (int64_t k = c + thread / kRows; k < run_end; k += kWarps) {
          for (int64_t j = c + thread % kRows; j < panel.end; j += kRows) {
            shared.upper[k - c][j - panel.begin] = panel.upper[k * panel.columns + j];
          }
        }
      });
      block.each([&](int thread) {
        const Place at = place_of(block, thread);
        if (at.inside && at.warp == 0) {
          round_run(shared, at, c, run_end);
        }
      });
      block.each([&](int thread) {
        const Place at = place_of(block, thread);
        for (int64_t j = run_end + at.warp; j < panel.end && at.inside; j += kWarps) {
          update(shared, at.lane, j, c, run_end);
        }
      });
      c = run_end;
    }
  }

 private:
  struct Place {
    int lane;
    int warp;
    int64_t row;
    bool inside;  // the layer has such a row
  };

  QUENCH_KERNEL Place place_of(const cuda::Block& block, int thread) const {
    const int lane = thread % kRows;
    const int64_t row = block.index() * kRows + lane;
    return {lane, thread / kRows, row, row < panel.rows};
  }

  QUENCH_KERNEL bool starts_group(int64_t column) const {
    return panel.source != GridSource::kGiven && column % panel.group_size == 0;
  }

  // Codes and errors of columns [from, to) of one row.
  QUENCH_KERNEL void round_run(Shared& shared, const Place& at, int64_t from, int64_t to) const {
    double loss = panel.loss[at.row];
    double scales[kRun] = {};
    double zeros[kRun] = {};
    double pivots[kRun] = {};
    for (int i = 0; i < kRun; ++i) {
      if (from + i < to) {
        const int64_t grid = panel.group[from + i] * panel.rows + at.row;
        scales[i] = panel.scales[grid];
        zeros[i] = panel.zeros[grid];
        pivots[i] = panel.pivots[from + i];
      }
    }
    for (int i = 0; i < kRun; ++i) {
      const int64_t k = from + i;
      if (k >= to) {
        break;
      }
      if (i > 0) {
        update(shared, at.lane, k, from, k);
      }
      const double x = shared.tile[k - panel.begin][at.lane];
      const Grid grid{scales[i], zeros[i]};
      const double code = numbers.code(x, grid);
      const double error = (x - numbers.number(code, grid)) / pivots[i];
      panel.codes[k * panel.rows + at.row] = static_cast<uint8_t>(static_cast<int32_t>(code));
      loss += error * error / 2;
      const int64_t kept = (k - panel.begin) * panel.rows + at.row;
      shared.errors[k - from][at.lane] = error;
      panel.errors[kept] = static_cast<T>(error);
      if (panel.correction != nullptr) {
        shared.negated[k - from][at.lane] = -x;
        panel.negated[kept] = static_cast<T>(-x);
      }
    }
    panel.loss[at.row] = loss;
  }

  // Takes the errors of columns [run, to) of the run that begins at `run` off column j. The loop
  // has as many rounds as a run may have columns, so that nvcc unrolls it and reads ahead.
  QUENCH_KERNEL void update(Shared& shared, int lane, int64_t j, int64_t run, int64_t to) const {
    double value = shared.tile[j - panel.begin][lane];
    for (int i = 0; i < kRun; ++i) {
      const int64_t k = run + i;
      if (k < to) {
        const double product = shared.errors[i][lane] * shared.upper[i][j - panel.begin];
        value -= panel.correction == nullptr
                     ? product
                     : product + shared.negated[i][lane] * panel.correction[k * panel.columns + j];
      }
    }
    shared.tile[j - panel.begin][lane] = value;
  }

  // The grids of the group that starts at `column`: its values are the tile's and, past the panel,
  // the weights'.
  QUENCH_KERNEL void start_group(cuda::Block& block, Shared& shared, int64_t column) const {
    const int64_t past = column + panel.group_size;
    const int64_t to = past < panel.columns ? past : panel.columns;
    block.each([&](int thread) {
      const Place at = place_of(block, thread);
      double low = 0;
      double high = 0;
      for (int64_t c = column + at.warp; c < to && at.inside; c += kWarps) {
        const double x = value_of(shared, at, c);
        low = x < low ? x : low;
        high = x > high ? x : high;
      }
      shared.grid.low[at.warp][at.lane] = low;
      shared.grid.high[at.warp][at.lane] = high;
    });
    block.each([&](int thread) {
      const Place at = place_of(block, thread);
      const auto value = [&](int64_t i) { return value_of(shared, at, column + i); };
      shared.grid.tried[at.warp][at.lane] =
          at.inside && numbers.searches()
              ? numbers.try_some(group_range(shared, at.lane), value, to - column, at.warp, kWarps)
              : nothing_tried();
    });
    block.each([&](int thread) {
      const Place at = place_of(block, thread);
      if (at.warp != 0 || !at.inside) {
        return;
      }
      Tried best = shared.grid.tried[0][at.lane];
      for (int warp = 1; warp < kWarps; ++warp) {
        best = better(best, shared.grid.tried[warp][at.lane]);
      }
      const auto value = [&](int64_t i) { return value_of(shared, at, column + i); };
      const Grid grid = numbers.chosen(group_range(shared, at.lane), best, value, to - column);
      const int64_t to_row = panel.group[column] * panel.rows + at.row;
      panel.scales[to_row] = grid.scale;
      panel.zeros[to_row] = grid.zero;
    });
  }

  QUENCH_KERNEL double value_of(const Shared& shared, const Place& at, int64_t column) const {
    return column < panel.end ? shared.tile[column - panel.begin][at.lane]
                              : static_cast<double>(panel.weights[column * panel.rows + at.row]);
  }

  QUENCH_KERNEL Range group_range(const Shared& shared, int lane) const {
    double low = 0;
    double high = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      low = shared.grid.low[warp][lane] < low ? shared.grid.low[warp][lane] : low;
      high = shared.grid.high[warp][lane] > high ? shared.grid.high[warp][lane] : high;
    }
    return {low, high};
  }
};

}  // namespace quench::quantizers
