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
              double factor, bool add) {
  matrix::Result<T, T> result;
  result.to = to.data;
  result.stride = to.stride;
  result.factor = factor;
  result.add = add;
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
