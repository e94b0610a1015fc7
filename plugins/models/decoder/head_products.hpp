// Matrix products on slices of one head of a tensor [B,T,H,D]. They run inside tasks, each of which
// has heads of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "quench/kit/host.hpp"
#include "shared/matrix/kernel.hpp"
#include "shared/matrix/tile.hpp"

namespace quench::decoder {

inline constexpr int64_t kQueries = matrix::kBlockRows;  // queries whose scores exist at once

// A matrix with element (i, j) at i * stride + j.
template <typename T>
struct Rows {
  T* data;
  int64_t stride;
  Rows from(int64_t row) const { return {data + row * stride, stride}; }
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

// to [m, n] (+)= factor * a [m, k] b [k, n]; a is indexed by (i, k), b by (j, k).
template <typename T>
void multiply(matrix::Operand<T> a, matrix::Operand<T> b, matrix::Sizes sizes, Rows<T> to,
              double factor, bool add, matrix::Triangle triangle = matrix::Triangle::kBoth) {
  matrix::Result<T, T> result;
  result.to = to.data;
  result.stride = to.stride;
  result.factor = factor;
  result.add = add;
  result.triangle = triangle;
  matrix::multiply<T, T>(a, b, sizes, result);
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

// A block of `count` queries from query `first` on, of which query i sees the first `first` + i + 1
// keys, and the products of its matrices [count, seen]. Above their diagonal these are 0, or nobody
// reads them, so products leave most of that out. As they leave out zeros alone, an element has the
// bits of the whole product.
struct CausalBlock {
  int64_t first;
  int64_t count;
  int64_t width;  // D

  int64_t seen() const { return first + count; }

  // to [count, seen] (+)= factor * a [count, D] b [seen, D]ᵀ. Elements above the diagonal may stay
  // as they are.
  template <typename T>
  void scores(Rows<const T> a, Rows<const T> b, Rows<T> to, double factor, bool add) const {
    if (first > 0) {
      multiply<T>(rows(a), rows(b), {count, first, width}, to, factor, add);
    }
    multiply<T>(rows(a), rows(b.from(first)), {count, count, width}, {to.data + first, to.stride},
                factor, add, matrix::Triangle::kLower);
  }

  // to [count, D] (+)= factor * p [count, seen] b [seen, D]
  template <typename T>
  void weigh(Rows<T> p, Rows<const T> b, Rows<T> to, double factor, bool add) const {
    each_strip([&](int64_t i, int64_t size) {
      multiply<T>(rows<T>(p.from(i)), columns(b), {size, width, first + i + size}, to.from(i),
                  factor, add);
    });
  }

  // to [seen, D] += factor * pᵀ [seen, count] b [count, D]
  template <typename T>
  void add_backwards(Rows<T> p, Rows<const T> b, Rows<T> to, double factor) const {
    if (first > 0) {
      multiply<T>(columns<T>(p), columns(b), {first, width, count}, to, factor, true);
    }
    each_strip([&](int64_t i, int64_t size) {  // keys, which the queries before them do not see
      const Rows<T> part = {p.from(i).data + first + i, p.stride};
      multiply<T>(columns<T>(part), columns(b.from(i)), {size, width, count - i},
                  to.from(first + i), factor, true);
    });
  }

 private:
  // Calls body(i, size) for the parts of [0, count).
  template <typename Body>
  void each_strip(Body&& body) const {
    const int64_t rows = matrix::tile_rows(matrix::isa());
    const int64_t strip = std::max<int64_t>(1, 28 / rows) * rows;  // whole tiles
    for (int64_t i = 0; i < count; i += strip) {
      body(i, std::min(strip, count - i));
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
  // Calls body(first, count, seen) for each block of queries; they see at most the first `seen`
  // keys.
  template <typename Body>
  void each_block(Body&& body) const {
    for (int64_t first = 0; first < length; first += kQueries) {
      const int64_t count = std::min(kQueries, length - first);
      body(first, count, first + count);
    }
  }
  // Sets the scores of keys that a query does not see to -infinity. Returns how many keys there are
  // up to and including its own position.
  template <typename T>
  int64_t hide(T* scores, int64_t row, int64_t query) const {
    const int64_t before = query + 1;
    if (sees != nullptr) {
      const bool* visible = sees + (row * length + query) * length;
      for (int64_t key = 0; key < before; ++key) {
        scores[key] = visible[key] ? scores[key] : -std::numeric_limits<T>::infinity();
      }
    }
    return before;
  }

  int64_t batch;
  int64_t length;
  int64_t heads;
  int64_t width;
  double scale;
  const bool* sees;
};

}  // namespace quench::decoder
