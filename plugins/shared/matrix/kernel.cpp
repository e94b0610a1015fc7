#include "shared/matrix/kernel.hpp"

#ifdef QUENCH_HAS_MATRIX_KERNELS

#include <algorithm>
#include <type_traits>

#include "quench/kit/host.hpp"
#include "shared/matrix/buffer.hpp"

namespace quench::matrix {

namespace {

// Of a panel, the depth whose products are summed in registers: kTileColumns of b are 32 KiB.
constexpr int64_t kDepth = 256;
constexpr int64_t kTaskRows = 8 * kTileRows;
constexpr int64_t kTasks = 16;             // wanted of a product, so that threads end together
constexpr int64_t kFewTiles = 64;          // products of no more are one task
constexpr int64_t kTaskPanels = 4;         // of b, at least, so that a copy of a pays
constexpr int64_t kPackedBytes = 3 << 20;  // of b that are copied at a time
constexpr int64_t kPackedDepth = 4 * kDepth;

int64_t parts_of(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

// The part of a product that is made from one copied part of b.
template <typename T, typename To, typename From>
struct Step {
  Operand<From> a;  // from the step's first row and k on
  const T* b;       // panels of all of the step's depth, one run of kDepth after the other
  int64_t row;      // the first one of the result that is wanted in these columns
  int64_t rows;     // from there on
  int64_t column;   // first column
  int64_t columns;
  int64_t depth;
  bool first;  // no k came before
  const Result<T, To>* result;

  int64_t panels() const { return parts_of(columns, kTileColumns<T>); }
};

// Rows and panels of b that one task works on; whole tiles of rows, but at the end.
struct Range {
  int64_t row;
  int64_t rows;
  int64_t panel;
  int64_t panels;
};

// Whether anything of the tile of kTileRows rows from `row` on is wanted.
template <typename T>
bool is_wanted(Part part, int64_t row, int64_t column) {
  return part == Part::kAll ||
         (part == Part::kUpper ? column + kTileColumns<T> > row : row + kTileRows > column);
}

// Whether a tile's rows, each read along its depth, find room in the first-level cache together:
// rows a multiple of 4 KiB apart would all want the same lines of it.
template <typename T, typename From>
bool reads_well_in_place(const Operand<From>& a) {
  constexpr int64_t kSets = 4096;  // bytes
  return a.deep == 1 && a.along * static_cast<int64_t>(sizeof(T)) % kSets != 0;
}

// Rows of a are read where they lie if they are T, their tile is full, and only few columns use
// them or they read well there; else from a copy.
template <typename T, typename To, typename From>
void run_task(const Step<T, To, From>& step, const Range& range) {
  constexpr int64_t kWidth = kTileColumns<T>;
  const Result<T, To>& result = *step.result;
  const bool copies =
      !std::is_same_v<T, From> || (range.panels > kTaskPanels && !reads_well_in_place<T>(step.a));
  const int64_t copied_from = copies ? 0 : range.rows / kTileRows * kTileRows;
  const Buffer memory(parts_of(range.rows - copied_from, kTileRows) * kTileRows *
                      std::min(kDepth, step.depth) * static_cast<int64_t>(sizeof(T)));
  T* copied = memory.as<T>();
  for (int64_t k = 0; k < step.depth; k += kDepth) {
    const int64_t depth = std::min(kDepth, step.depth - k);
    const Operand<From> here = {step.a.data + range.row * step.a.along + k * step.a.deep,
                                step.a.along, step.a.deep};
    pack<From, T>({here.data + copied_from * here.along, here.along, here.deep},
                  range.rows - copied_from, depth, kTileRows, copied);
    const T* b = step.b + step.panels() * kWidth * k;
    const bool adds = result.add || k > 0 || !step.first;
    for (int64_t j = range.panel; j < range.panel + range.panels; ++j) {
      const int64_t column = step.column + j * kWidth;
      for (int64_t i = 0; i < range.rows; i += kTileRows) {
        const int64_t row = step.row + range.row + i;
        if (!is_wanted<T>(result.part, row, column)) {
          continue;
        }
        Panel<T> panel = {copied + (i - copied_from) * depth, kTileRows, false};
        if constexpr (std::is_same_v<T, From>) {
          if (i < copied_from) {
            panel = here.deep == 1 ? Panel<T>{here.data + i * here.along, here.along, true}
                                   : Panel<T>{here.data + i, here.deep, false};
          }
        }
        run_tile<T, To>(panel, b + j * kWidth * depth, depth,
                        {result.to + row * result.stride + column, result.stride,
                         std::min(kTileRows, range.rows - i),
                         std::min(kWidth, step.column + step.columns - column), result.factor, adds,
                         adds || result.bias == nullptr ? nullptr : result.bias + column});
      }
    }
  }
}

// `step` in tasks: blocks of rows times ranges of columns. No element depends on the tasks.
template <typename T, typename To, typename From>
void run_step(const Step<T, To, From>& step) {
  const int64_t panels = step.panels();
  const int64_t tiles = parts_of(step.rows, kTileRows);
  if (tiles * panels * step.depth <= kFewTiles * kDepth) {
    run_task(step, {0, step.rows, 0, panels});
    return;
  }
  const int64_t rows = std::min(kTaskRows, std::max<int64_t>(1, tiles / 2) * kTileRows);
  const int64_t down = parts_of(step.rows, rows);
  const int64_t wanted = std::clamp<int64_t>(parts_of(panels, parts_of(kTasks, down)),
                                             std::min(panels, 2 * kTaskPanels), panels);
  const int64_t across = parts_of(panels, wanted);
  kit::parallel_for(static_cast<uint64_t>(down * across), 1, [&](uint64_t begin, uint64_t end) {
    for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end); ++task) {
      const int64_t row = task / across * rows;
      const int64_t panel = task % across * wanted;
      run_task(step,
               {row, std::min(rows, step.rows - row), panel, std::min(wanted, panels - panel)});
    }
  });
}

// Copies the step's part of b, which begins at `from`, to `to`.
template <typename T, typename To, typename From>
void pack_step(const Operand<From>& from, const Step<T, To, From>& step, T* to) {
  constexpr int64_t kWidth = kTileColumns<T>;
  constexpr int64_t kPanels = 4;  // of one task
  const int64_t panels = step.panels();
  const int64_t across = parts_of(panels, kPanels);
  const auto copy = [&](uint64_t begin, uint64_t end) {
    for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end); ++task) {
      const int64_t k = task / across * kDepth;
      const int64_t depth = std::min(kDepth, step.depth - k);
      const int64_t first = task % across * kPanels * kWidth;
      pack<From, T>({from.data + first * from.along + k * from.deep, from.along, from.deep},
                    std::min(kPanels * kWidth, step.columns - first), depth, kWidth,
                    to + panels * kWidth * k + first * depth);
    }
  };
  const auto tasks = static_cast<uint64_t>(across * parts_of(step.depth, kDepth));
  if (tasks <= 4) {
    copy(0, tasks);
  } else {
    kit::parallel_for(tasks, 1, copy);
  }
}

}  // namespace

template <typename T, typename To, typename From>
void multiply(const Operand<From>& a, const Operand<From>& b, const Sizes& sizes,
              const Result<T, To>& result) {
  constexpr int64_t kWidth = kTileColumns<T>;
  constexpr int64_t kElements = kPackedBytes / static_cast<int64_t>(sizeof(T));
  const int64_t deep = std::min(sizes.depth, kPackedDepth);
  const int64_t wide = std::min(std::max<int64_t>(1, kElements / deep / kWidth) * kWidth,
                                parts_of(sizes.columns, kWidth) * kWidth);
  const Buffer memory(wide * deep * static_cast<int64_t>(sizeof(T)));
  T* packed = memory.as<T>();
  for (int64_t column = 0; column < sizes.columns; column += wide) {
    const int64_t columns = std::min(wide, sizes.columns - column);
    const int64_t first =
        result.part == Part::kLower ? std::min(column, sizes.rows) / kTileRows * kTileRows : 0;
    const int64_t end =
        result.part == Part::kUpper ? std::min(column + columns, sizes.rows) : sizes.rows;
    for (int64_t k = 0; k < sizes.depth && first < end; k += deep) {
      const Step<T, To, From> step{{a.data + first * a.along + k * a.deep, a.along, a.deep},
                                   packed,
                                   first,
                                   end - first,
                                   column,
                                   columns,
                                   std::min(deep, sizes.depth - k),
                                   k == 0,
                                   &result};
      pack_step<T, To, From>({b.data + column * b.along + k * b.deep, b.along, b.deep}, step,
                             packed);
      run_step(step);
    }
  }
}

template void multiply(const Operand<float>&, const Operand<float>&, const Sizes&,
                       const Result<float, float>&);
template void multiply(const Operand<float>&, const Operand<float>&, const Sizes&,
                       const Result<float, double>&);
template void multiply(const Operand<double>&, const Operand<double>&, const Sizes&,
                       const Result<double, double>&);
template void multiply(const Operand<float>&, const Operand<float>&, const Sizes&,
                       const Result<double, double>&);

}  // namespace quench::matrix

#endif
