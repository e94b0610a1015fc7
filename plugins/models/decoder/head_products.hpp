// Matrix products on slices of one head of a tensor [B,T,H,D]. They run inside tasks, each of which
// has heads of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "models/decoder/softmax_kernels.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/buffer.hpp"
#include "shared/matrix/kernel.hpp"
#include "shared/matrix/tile.hpp"

namespace quench::decoder {

// Queries over which sums for keys and values run in registers. It affects the result.
inline constexpr int64_t kQueries = matrix::kBlockRows;

inline int64_t rounded_up(int64_t count, int64_t size) {
  return (count + size - 1) / size * size;
}

// A matrix with element (i, j) at i * stride + j.
template <typename T>
struct Rows {
  T* data;
  int64_t stride;
  Rows from(int64_t row) const { return {data + row * stride, stride}; }
  // As a T* becomes a const T*. NOLINTNEXTLINE(google-explicit-constructor)
  operator Rows<const T>() const { return {data, stride}; }
};

// The rows of a matrix as the first operand of a product or, transposed, as the second.
template <typename T>
matrix::Operand<T> rows(Rows<const T> x) {
  return {x.data, x.stride, 1};
}
template <typename T>
matrix::Operand<T> columns(Rows<const T> x) {
  return {x.data, 1, x.stride};
}

// One head of a tensor whose innermost stride is 1.
template <typename T>
Rows<const T> head_of(const at::Tensor& x, int64_t row, int64_t head) {
  return {x.const_data_ptr<T>() + row * x.stride(0) + head * x.stride(2), x.stride(1)};
}
template <typename T>
Rows<T> result_of(const at::Tensor& x, int64_t row, int64_t head) {
  return {x.mutable_data_ptr<T>() + row * x.stride(0) + head * x.stride(2), x.stride(1)};
}

// Memory of one task, taken in parts that begin on cache lines.
template <typename T>
class TaskMemory {
 public:
  explicit TaskMemory(int64_t elements)
      : memory_(elements * static_cast<int64_t>(sizeof(T))), next_(memory_.as<T>()) {}
  // What a part of `elements` takes.
  static int64_t size(int64_t elements) {
    return rounded_up(elements, 64 / static_cast<int64_t>(sizeof(T)));
  }
  T* take(int64_t elements) { return std::exchange(next_, next_ + size(elements)); }

 private:
  matrix::Buffer memory_;
  T* next_;
};

// A second operand, copied into panels that tiles read in order: packed once for all products that
// read it.
template <typename T>
struct Panels {
  const T* data;
  int64_t depth;  // values of k that a panel holds
  matrix::Isa isa;

  int64_t columns() const { return matrix::tile_columns<T>(isa); }  // of a panel
  // From column j on, the first of a panel, and from k on.
  const T* at(int64_t j, int64_t k) const { return data + j * depth + k * columns(); }
  Panels from(int64_t k) const { return {at(0, k), depth, isa}; }
};

// Elements that b [count, width] takes, packed for products with bᵀ (of depth `width`), and for
// those with b (of depth `count`).
template <typename T>
int64_t packed_rows_size(int64_t count, int64_t width) {
  return TaskMemory<T>::size(rounded_up(count, matrix::tile_columns<T>(matrix::isa())) * width);
}
template <typename T>
int64_t packed_columns_size(int64_t count, int64_t width) {
  return packed_rows_size<T>(width, count);
}
template <typename T>
Panels<T> packed_rows(Rows<const T> b, int64_t count, int64_t width, T* to) {
  const matrix::Isa isa = matrix::isa();
  matrix::pack<T, T>(isa, rows(b), count, width, matrix::tile_columns<T>(isa), to);
  return {to, width, isa};
}
template <typename T>
Panels<T> packed_columns(Rows<const T> b, int64_t count, int64_t width, T* to) {
  const matrix::Isa isa = matrix::isa();
  matrix::pack<T, T>(isa, columns(b), width, count, matrix::tile_columns<T>(isa), to);
  return {to, count, isa};
}

// The same as multiply_tile below, in runs of the depth, of rows that are copied if a tile would
// read more than there are.
template <typename T>
[[gnu::noinline]] void multiply_tile_in_runs(matrix::Isa isa, const matrix::Operand<T>& a,
                                             const T* panel, int64_t depth, matrix::Tile<T, T> to) {
  const int64_t read = matrix::rows_read(isa, to.rows);
  for (int64_t k = 0; k < depth; k += matrix::kDepth) {
    const int64_t run = std::min(matrix::kDepth, depth - k);
    const T* from = a.data + k * a.k_stride;
    const T* b = panel + k * matrix::tile_columns<T>(isa);
    if (read == to.rows) {
      const bool contiguous = a.k_stride == 1;
      matrix::run_tile<T, T>(isa, {from, contiguous ? a.row_stride : a.k_stride, contiguous}, b,
                             run, to);
    } else {
      T copied[matrix::tile_rows(matrix::Isa::kAvx512) * matrix::kDepth];
      matrix::pack<T, T>(isa, {from, a.row_stride, a.k_stride}, to.rows, run, read, copied);
      matrix::run_tile<T, T>(isa, {copied, read, false}, b, run, to);
    }
    to.add = true;
  }
}

// One tile of a product, over any depth. The sums are those of matrix::multiply, in its order.
template <typename T>
void multiply_tile(matrix::Isa isa, const matrix::Operand<T>& a, const T* panel, int64_t depth,
                   const matrix::Tile<T, T>& to) {
  if (depth > matrix::kDepth || matrix::rows_read(isa, to.rows) != to.rows) {
    return multiply_tile_in_runs<T>(isa, a, panel, depth, to);
  }
  const bool contiguous = a.k_stride == 1;
  matrix::run_tile<T, T>(isa, {a.data, contiguous ? a.row_stride : a.k_stride, contiguous}, panel,
                         depth, to);
}

// A block of `count` queries from query `first` on, of which query i sees the first `first` + i + 1
// keys, and the products of its matrices [count, seen]. Above their diagonal these are 0, or nobody
// reads them, so products leave most of that out. As they leave out zeros alone, an element has the
// bits of the whole product.
struct CausalBlock {
  int64_t first;
  int64_t count;
  int64_t width;  // D

  int64_t seen() const { return first + count; }

  // to [count, seen] (+)= factor * a [count, D] b [seen, D]ᵀ; b is packed by rows. Above the
  // diagonal, where rows of `to` have `stride` elements, anything may be written.
  template <typename T>
  void scores(Rows<const T> a, const Panels<T>& b, Rows<T> to, double factor, bool add) const {
    const int64_t tile = matrix::tile_rows(b.isa);
    for (int64_t i = 0; i < count; i += tile) {
      const int64_t size = std::min(tile, count - i);
      const Rows<T> here = to.from(i);
      for (int64_t j = 0; j < first + i + size; j += b.columns()) {
        multiply_tile<T>(b.isa, rows(a.from(i)), b.at(j, 0), width,
                         {here.data + j, here.stride, size, std::min(b.columns(), here.stride - j),
                          factor, add, nullptr});
      }
    }
  }

  // to [count, D] (+)= factor * p [count, seen] b [seen, D]; b is packed by columns. p must be 0
  // from its diagonal to the end of a tile's rows.
  template <typename T>
  void weigh(Rows<T> p, const Panels<T>& b, Rows<T> to, double factor, bool add) const {
    const int64_t tile = matrix::tile_rows(b.isa);
    for (int64_t i = 0; i < count; i += tile) {
      const int64_t size = std::min(tile, count - i);
      const Rows<T> here = to.from(i);
      for (int64_t j = 0; j < width; j += b.columns()) {
        multiply_tile<T>(b.isa, rows<T>(p.from(i)), b.at(j, 0), first + i + size,
                         {here.data + j, here.stride, size, std::min(b.columns(), width - j),
                          factor, add, nullptr});
      }
    }
  }

  // to [seen, D] += factor * pᵀ [seen, count] b [count, D]; b is packed by columns, p as above. The
  // block's own keys are written unless `adds`.
  template <typename T>
  void add_backwards(Rows<T> p, const Panels<T>& b, Rows<T> to, double factor, bool adds) const {
    const int64_t tile = matrix::tile_rows(b.isa);
    for (int64_t j = 0; j < width; j += b.columns()) {
      const auto run = [&](int64_t key, int64_t end, int64_t query, bool add) {
        const Rows<T> here = to.from(key);
        multiply_tile<T>(b.isa, columns<T>({p.from(query).data + key, p.stride}), b.at(j, query),
                         count - query,
                         {here.data + j, here.stride, std::min(tile, end - key),
                          std::min(b.columns(), width - j), factor, add, nullptr});
      };
      for (int64_t key = 0; key < first; key += tile) {
        run(key, first, 0, true);
      }
      for (int64_t query = 0; query < count; query += tile) {  // those before do not see the keys
        run(first + query, seen(), query, adds);
      }
    }
  }
};

// Queries [B,T,H,D] and the keys they see: all earlier tokens and themselves, or only those where
// `mask` (boolean [B,1,T,T], contiguous; may be undefined) is true.
struct Queries {
  Queries(const at::Tensor& q, const at::Tensor& mask)
      : batch(q.size(0)),
        length(q.size(1)),
        heads(q.size(2)),
        width(q.size(3)),
        scale(1.0 / std::sqrt(static_cast<double>(width))),
        sees(mask.defined() ? mask.const_data_ptr<bool>() : nullptr) {}

  // Calls body(row, head) on the host's threads, for `count` heads of each row.
  template <typename Body>
  void each_head(int64_t count, Body&& body) const {
    kit::parallel_for(static_cast<uint64_t>(batch * count), 1, [&](uint64_t begin, uint64_t end) {
      for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end); ++task) {
        body(task / count, task % count);
      }
    });
  }
  // Calls body(block) for blocks of at most `size` queries from `first` to `end`.
  template <typename Body>
  void each_block(int64_t first, int64_t end, int64_t size, Body&& body) const {
    for (; first < end; first += size) {
      body(CausalBlock{first, std::min(size, end - first), width});
    }
  }
  // Sets the scores of keys up to its own position that a query does not see to -infinity.
  template <typename T>
  void hide(const CausalBlock& block, int64_t row, Rows<T> scores) const {
    for (int64_t i = 0; sees != nullptr && i < block.count; ++i) {
      const int64_t query = block.first + i;
      kernel::hide(sees + (row * length + query) * length, static_cast<size_t>(query + 1),
                   scores.from(i).data);
    }
  }

  int64_t batch;
  int64_t length;
  int64_t heads;
  int64_t width;
  double scale;
  const bool* sees;
};

}  // namespace quench::decoder
