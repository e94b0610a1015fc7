// GPTQ on one weight as a sequence of kernels, given the factor: what solve() does on the host.
// The caller's `launch(kernel)` runs a kernel's blocks: on a GPU, in its stream, or by
// cuda::run_on_host. Nothing here waits for one.
#pragma once

#include <cstdint>

#include "quantizers/gptq/device/panel_kernel.hpp"
#include "quantizers/gptq/device/rest_kernel.hpp"
#include "quantizers/gptq/device/turn_kernels.hpp"
#include "quantizers/grid/round_rows_kernel.hpp"

namespace quench::quantizers {

// All pointers are to the memory of the device that computes. From is the type of the weight, T the
// `precision`: of weights outside a panel and of what is passed on to them.
// Numbers: what is rounded to (grid/grid_numbers.hpp).
template <typename From, typename T, typename Numbers = GridNumbers>
struct ColumnLoop {
  int64_t rows;
  int64_t columns;
  int64_t block;       // at most QuantizePanel<T>::kWidest
  int64_t group_size;  // columns of a group; whole rows: `columns`
  int64_t groups;
  bool whole_rows;  // one group, whose grid counts dead columns too
  GridSource source;
  Numbers numbers;

  const From* weight;        // [rows, columns]
  const uint8_t* dead;       // [columns], original order
  const int32_t* order;      // [columns], Factor::perm
  const int32_t* group;      // [columns], group of the k-th column
  const double* upper;       // [columns, columns], U
  const double* pivots;      // [columns], its diagonal
  const double* correction;  // [columns, columns], P, or null

  uint8_t* codes;  // [rows, columns], original order
  double* scales;  // [rows, groups]
  double* zeros;   // [rows, groups]
  double* loss;    // [rows], 0 at first

  // Scratch.
  T* weights;           // [columns, rows]
  uint8_t* turned;      // [columns, rows]
  double* grid_scales;  // [groups, rows]
  double* grid_zeros;   // [groups, rows]
  T* errors;            // [block, rows]
  T* negated;           // [block, rows]; only with `correction`
};

// Whether the kernels can do it; a block that is wider than shared memory allows cannot be one
// panel.
template <typename From, typename T, typename Numbers>
bool has_kernels(const ColumnLoop<From, T, Numbers>& loop) {
  return loop.block > 0 && loop.block <= QuantizePanel<T, Numbers>::kWidest;
}

template <typename From, typename T, typename Numbers, typename Launch>
void run_columns(const ColumnLoop<From, T, Numbers>& loop, const Launch& launch) {
  if (loop.source == GridSource::kGiven) {
    launch(RoundRows<From, Numbers>{loop.weight, loop.rows, loop.columns, loop.group_size,
                                    loop.groups, loop.numbers,
                                    loop.whole_rows ? nullptr : loop.dead, nullptr,
                                    loop.grid_scales, loop.grid_zeros, 1, loop.rows});
  }
  const Squares squares{loop.rows, loop.columns};
  launch(TurnIn<From, T>{squares, loop.weight, loop.order, loop.dead, loop.weights});
  for (int64_t begin = 0; begin < loop.columns;) {
    const int64_t end = panel_end(begin, loop.columns, loop.block, loop.source, loop.group_size);
    launch(QuantizePanel<T, Numbers>{{loop.rows,
                                      loop.columns,
                                      begin,
                                      end,
                                      {},
                                      loop.source,
                                      loop.group_size,
                                      loop.group,
                                      loop.upper,
                                      loop.pivots,
                                      loop.weights,
                                      loop.grid_scales,
                                      loop.grid_zeros,
                                      loop.turned,
                                      loop.errors,
                                      loop.correction,
                                      loop.negated,
                                      loop.loss},
                                     loop.numbers});
    if (end < loop.columns) {
      launch(UpdateRest<T>{loop.rows, loop.columns, begin, end, loop.upper, loop.correction,
                           loop.errors, loop.negated, loop.weights});
    }
    begin = end;
  }
  launch(TurnOut<uint8_t>{squares, loop.turned, loop.order, loop.codes});
  const Squares of_grids{loop.rows, loop.groups};
  launch(TurnOut<double>{of_grids, loop.grid_scales, nullptr, loop.scales});
  launch(TurnOut<double>{of_grids, loop.grid_zeros, nullptr, loop.zeros});
}

}  // namespace quench::quantizers
