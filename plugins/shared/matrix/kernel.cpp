#include "shared/matrix/kernel.hpp"

#include <algorithm>
#include <type_traits>

#include "quench/kit/host.hpp"
#include "shared/matrix/buffer.hpp"
#include "shared/matrix/tile.hpp"

namespace quench::matrix {

namespace {

constexpr int64_t kTasks = 16;             // tasks wanted per product, so that threads end together
constexpr int64_t kFewProducts = 1 << 22;  // a product with no more multiplications is one task
constexpr int64_t kTaskPanels = 4;         // panels of b per task, at least, so copying a pays
constexpr int64_t kTaskColumns = 64;       // columns, likewise, where each k of a is another line
constexpr int64_t kPackedBytes = 3 << 20;  // bytes of b that are copied at a time
constexpr int64_t kPackedDepth = 4 * kDepth;

int64_t parts_of(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

// The tile size of an instruction set.
struct Shape {
  Isa isa;
  int64_t rows;
  int64_t columns;

  int64_t task_rows() const { return kBlockRows / rows * rows; }
  // For products of few tasks, so that threads end together.
  int64_t half_task_rows() const { return kBlockRows / 2 / rows * rows; }
};

template <typename T>
Shape shape_of(Isa isa) {
  return {isa, tile_rows(isa), tile_columns<T>(isa)};
}

// A step: some columns of a product, over as much of its depth as is computed in one go.
template <typename T, typename To, typename From>
struct Step {
  Shape shape;
  Operand<From> a;  // from the step's first row and first k on
  Operand<From> b;  // from the step's first column and first k on
  const T*
      packed;      // b in panels, one run of kDepth after the other; null: each task copies its own
  int64_t row;     // first wanted row of the result in these columns
  int64_t rows;    // number of rows from there on
  int64_t column;  // first column
  int64_t columns;
  int64_t depth;
  bool first;  // whether this step has the first k
  const Result<Sum<T>, To>* result;

  int64_t panels() const { return parts_of(columns, shape.columns); }
};

// Rows and panels of b that one task works on; whole tiles of rows, except at the end.
struct Range {
  int64_t row;
  int64_t rows;
  int64_t panel;
  int64_t panels;
};

// Whether the caller wants any element of the tile at (row, column).
bool is_wanted(const Shape& shape, Triangle triangle, int64_t row, int64_t column) {
  return triangle == Triangle::kBoth ||
         (triangle == Triangle::kUpper ? column + shape.columns > row : row + shape.rows > column);
}

// Whether the rows of a tile, each read along its depth, fit in the first-level cache together:
// rows that lie a multiple of 4 KiB apart would all compete for the same cache lines.
template <typename From>
bool reads_well_in_place(const Operand<From>& a) {
  constexpr int64_t kSets = 4096;  // bytes
  return a.k_stride == 1 && a.row_stride * static_cast<int64_t>(sizeof(*a.data)) % kSets != 0;
}

template <typename From>
Operand<From> moved(const Operand<From>& from, int64_t row, int64_t k) {
  return {from.data + row * from.row_stride + k * from.k_stride, from.row_stride, from.k_stride};
}

// Whether a tile can read the operand where it lies, and how.
template <typename T, typename From>
bool reads_in_place(const Operand<From>&) {
  return std::is_same_v<T, From>;
}
template <typename T>
Panel<T> in_place(const Operand<T>& a) {
  return a.k_stride == 1 ? Panel<T>{a.data, a.row_stride, true}
                         : Panel<T>{a.data, a.k_stride, false};
}

// The same of pairs, by whose number k is counted.
#ifdef QUENCH_X86_KERNELS
Operand<Bfloat16Pair> moved(const Operand<Bfloat16Pair>& from, int64_t row, int64_t k) {
  return {from.data + row * from.row_stride + 2 * k * from.k_stride, from.row_stride, from.k_stride,
          from.depth - 2 * k};
}
template <>
bool reads_in_place<Bfloat16Pair>(const Operand<Bfloat16Pair>& a) {
  return a.k_stride == 1 && a.row_stride % 2 == 0 && a.depth % 2 == 0;
}
Panel<Bfloat16Pair> in_place(const Operand<Bfloat16Pair>& a) {
  return {reinterpret_cast<const Bfloat16Pair*>(a.data), a.row_stride / 2, true};
}
#endif

// A task's rows of a, for one run of the depth. Rows are read in place if tiles can do so, their
// tile is full, and few columns use them or they read well in place; otherwise they are packed.
// Where the values of one k are contiguous, each k lies on another line: few columns pay a copy.
template <typename T, typename From>
class Rows {
 public:
  // `memory` must have room for size() elements.
  Rows(const Shape& shape, const Operand<From>& from, int64_t count, bool copies, T* memory)
      : shape_(shape),
        from_(from),
        copied_from_(copies ? 0 : count / shape.rows * shape.rows),
        full_(count / shape.rows * shape.rows),
        rest_(count - full_),
        memory_(memory) {}

  static int64_t size(const Shape& shape, int64_t count, int64_t depth) {
    return parts_of(count, shape.rows) * shape.rows * depth;
  }

  void read(int64_t k, int64_t depth) {
    k_ = k;
    depth_ = depth;
    if (copied_from_ < full_) {
      pack<From, T>(shape_.isa, moved(from_, copied_from_, k), full_ - copied_from_, depth,
                    shape_.rows, memory_);
    }
    if (rest_ > 0) {
      pack<From, T>(shape_.isa, moved(from_, full_, k), rest_, depth, rows_read(shape_.isa, rest_),
                    memory_ + (full_ - copied_from_) * depth);
    }
  }

  Panel<T> tile(int64_t row) const {
    if (row < copied_from_) {
      if constexpr (std::is_same_v<T, From>) {
        return in_place(moved(from_, row, k_));
      }
    }
    const int64_t width = row < full_ ? shape_.rows : rows_read(shape_.isa, rest_);
    return {memory_ + (row - copied_from_) * depth_, width, false};
  }

 private:
  const Shape& shape_;
  Operand<From> from_;
  int64_t copied_from_;
  int64_t full_;
  int64_t rest_;
  T* memory_;
  int64_t k_ = 0;
  int64_t depth_ = 0;
};

// Multiplies a packed panel of b with the rows of the range.
template <typename T, typename To, typename From>
void run_panel(const Step<T, To, From>& step, const Range& range, const Rows<T, From>& rows,
               int64_t panel, const T* b, int64_t k, int64_t depth) {
  const Shape& shape = step.shape;
  const Result<Sum<T>, To>& result = *step.result;
  const bool adds = result.add || k > 0 || !step.first;
  const int64_t column = step.column + panel * shape.columns;
  for (int64_t i = 0; i < range.rows; i += shape.rows) {
    const int64_t row = step.row + range.row + i;
    if (is_wanted(shape, result.triangle, row, column)) {
      run_tile<T, To>(shape.isa, rows.tile(i), b, depth,
                      {result.to + row * result.stride + column, result.stride,
                       std::min(shape.rows, range.rows - i),
                       std::min(shape.columns, step.column + step.columns - column), result.factor,
                       adds, adds || result.bias == nullptr ? nullptr : result.bias + column});
    }
  }
}

template <typename T, typename To, typename From>
void run_task(const Step<T, To, From>& step, const Range& range) {
  const Shape& shape = step.shape;
  const int64_t longest = std::min(kDepth, step.depth);
  // Panels beyond which a copy pays.
  const int64_t pays = step.a.k_stride == 1 ? kTaskPanels : kTaskColumns / shape.columns;
  const bool copies =
      !reads_in_place<T>(step.a) || (range.panels > pays && !reads_well_in_place(step.a));
  const int64_t own = step.packed == nullptr ? shape.columns * longest : 0;
  const Buffer memory((own + Rows<T, From>::size(shape, range.rows, longest)) *
                      static_cast<int64_t>(sizeof(T)));
  Rows<T, From> rows(shape, moved(step.a, range.row, 0), range.rows, copies, memory.as<T>() + own);
  for (int64_t k = 0; k < step.depth; k += kDepth) {
    const int64_t depth = std::min(kDepth, step.depth - k);
    rows.read(k, depth);
    for (int64_t j = range.panel; j < range.panel + range.panels; ++j) {
      const int64_t column = j * shape.columns;
      const T* b = memory.as<T>();
      if (step.packed == nullptr) {
        pack<From, T>(shape.isa, moved(step.b, column, k),
                      std::min(shape.columns, step.columns - column), depth, shape.columns,
                      memory.as<T>());
      } else {
        b = step.packed + step.panels() * shape.columns * k + column * depth;
      }
      run_panel(step, range, rows, j, b, k, depth);
    }
  }
}

// Runs `step` as tasks of some rows and panels each. No element depends on the division into tasks.
template <typename T, typename To, typename From>
void run_tasks(const Step<T, To, From>& step, int64_t rows, int64_t panels) {
  const int64_t down = parts_of(step.rows, rows);
  const int64_t across = parts_of(step.panels(), panels);
  kit::parallel_for(static_cast<uint64_t>(down * across), 1, [&](uint64_t begin, uint64_t end) {
    for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end); ++task) {
      const int64_t row = task / across * rows;
      const int64_t panel = task % across * panels;
      run_task(step, {row, std::min(rows, step.rows - row), panel,
                      std::min(panels, step.panels() - panel)});
    }
  });
}

// For so few rows that one task uses each panel of b: the task packs it and finds it in its cache.
template <typename T, typename To, typename From>
void run_few_rows(const Step<T, To, From>& step) {
  if (step.rows * step.columns * step.depth <= kFewProducts) {
    return run_task(step, {0, step.rows, 0, step.panels()});
  }
  const int64_t panels = parts_of(step.panels(), kTasks);
  run_tasks(step, step.rows, std::clamp<int64_t>(panels, 1, 2 * kTaskPanels));
}

template <typename T, typename To, typename From>
void run_many_rows(const Step<T, To, From>& step) {
  const int64_t whole = step.shape.task_rows();
  const int64_t across = parts_of(step.panels(), 2 * kTaskPanels);
  const bool few = parts_of(step.rows, whole) * across < kTasks;
  const int64_t rows = few ? step.shape.half_task_rows() : whole;
  const int64_t wanted = parts_of(step.panels(), parts_of(kTasks, parts_of(step.rows, rows)));
  run_tasks(step, rows,
            std::clamp(wanted, std::min(step.panels(), 2 * kTaskPanels), step.panels()));
}

// Packs the step's part of b into `to`.
template <typename T, typename To, typename From>
void pack_step(const Step<T, To, From>& step, T* to) {
  constexpr int64_t kPanels = 4;  // per task
  const int64_t width = step.shape.columns;
  const int64_t across = parts_of(step.panels(), kPanels);
  const auto copy = [&](uint64_t begin, uint64_t end) {
    for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end); ++task) {
      const int64_t k = task / across * kDepth;
      const int64_t depth = std::min(kDepth, step.depth - k);
      const int64_t first = task % across * kPanels * width;
      pack<From, T>(step.shape.isa, moved(step.b, first, k),
                    std::min(kPanels * width, step.columns - first), depth, width,
                    to + step.panels() * width * k + first * depth);
    }
  };
  const auto tasks = static_cast<uint64_t>(across * parts_of(step.depth, kDepth));
  if (tasks <= 4) {
    copy(0, tasks);
  } else {
    kit::parallel_for(tasks, 1, copy);
  }
}

// With panels of T; the depth counts what these hold.
template <typename T, typename To, typename From>
void multiply_panels(const Operand<From>& a, const Operand<From>& b, const Sizes& sizes,
                     const Result<Sum<T>, To>& result) {
  const Shape shape = shape_of<T>(isa());
  const int64_t all = parts_of(sizes.columns, shape.columns) * shape.columns;
  // A deep and narrow product, such as a linear's derivative by its weight, has few panels: they
  // are packed once, for tasks of some rows each.
  const bool deep = sizes.depth > kPackedDepth && all <= kTasks * shape.columns;
  if (sizes.rows <= (deep ? shape.half_task_rows() : shape.task_rows())) {
    return run_few_rows(Step<T, To, From>{shape, a, b, nullptr, 0, sizes.rows, 0, sizes.columns,
                                          sizes.depth, true, &result});
  }
  constexpr int64_t kElements = kPackedBytes / static_cast<int64_t>(sizeof(T));
  const int64_t run = std::min(sizes.depth, kPackedDepth);
  const int64_t wide =
      std::min(std::max<int64_t>(1, kElements / run / shape.columns) * shape.columns, all);
  const Buffer memory(wide * run * static_cast<int64_t>(sizeof(T)));
  for (int64_t column = 0; column < sizes.columns; column += wide) {
    const int64_t columns = std::min(wide, sizes.columns - column);
    const int64_t first = result.triangle == Triangle::kLower
                              ? std::min(column, sizes.rows) / shape.rows * shape.rows
                              : 0;
    const int64_t end =
        result.triangle == Triangle::kUpper ? std::min(column + columns, sizes.rows) : sizes.rows;
    for (int64_t k = 0; k < sizes.depth && first < end; k += run) {
      const Step<T, To, From> step{shape,
                                   moved(a, first, k),
                                   moved(b, column, k),
                                   memory.as<T>(),
                                   first,
                                   end - first,
                                   column,
                                   columns,
                                   std::min(run, sizes.depth - k),
                                   k == 0,
                                   &result};
      pack_step(step, memory.as<T>());
      run_many_rows(step);
    }
  }
}

}  // namespace

template <typename T, typename To, typename From>
void multiply(const Operand<From>& a, const Operand<From>& b, const Sizes& sizes,
              const Result<T, To>& result) {
#ifdef QUENCH_X86_KERNELS
  if constexpr (std::is_same_v<From, Bfloat16>) {
    if (multiplies_pairs()) {
      const auto pairs = [&](const Operand<From>& of) {
        return Operand<Bfloat16Pair>{of.data, of.row_stride, of.k_stride, sizes.depth};
      };
      return multiply_panels<Bfloat16Pair>(
          pairs(a), pairs(b), {sizes.rows, sizes.columns, parts_of(sizes.depth, 2)}, result);
    }
  }
#endif
  multiply_panels<T>(a, b, sizes, result);
}

template void multiply(const Operand<float>&, const Operand<float>&, const Sizes&,
                       const Result<float, float>&);
template void multiply(const Operand<float>&, const Operand<float>&, const Sizes&,
                       const Result<float, double>&);
template void multiply(const Operand<double>&, const Operand<double>&, const Sizes&,
                       const Result<double, double>&);
template void multiply(const Operand<float>&, const Operand<float>&, const Sizes&,
                       const Result<double, double>&);
template void multiply(const Operand<Bfloat16>&, const Operand<Bfloat16>&, const Sizes&,
                       const Result<float, float>&);
template void multiply(const Operand<Float16>&, const Operand<Float16>&, const Sizes&,
                       const Result<float, float>&);

}  // namespace quench::matrix
