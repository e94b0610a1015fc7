// The arithmetic of product.hpp on plain memory (Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", 2008). Packs panels of both operands, so that a small
// kernel (tile.hpp) reads them in order.
#pragma once

#include <cstdint>

#include "shared/matrix/half.hpp"
#include "shared/matrix/isa.hpp"
#include "shared/matrix/triangle.hpp"

namespace quench::matrix {

// Rows of a block that uses tiles and caches well on every instruction set.
inline constexpr int64_t kBlockRows = 112;
// Depth of a panel whose products are summed in registers. It affects the result, so it is the same
// for all instruction sets. With AVX-512, these rows of a panel of b are 32 KiB.
inline constexpr int64_t kDepth = 256;

// One operand. Element (i, k) lies at i * row_stride + k * k_stride, where k is the dimension that
// is summed over. One of the two strides is 1.
template <typename T>
struct Operand {
  const T* data;
  int64_t row_stride;
  int64_t k_stride;
};

// The same in pairs of k: pair k has elements 2 k and 2 k + 1, of which the last may lie behind the
// depth and then counts as 0.
template <>
struct Operand<Bfloat16Pair> {
  const Bfloat16* data;
  int64_t row_stride;
  int64_t k_stride;
  int64_t depth;  // elements from `data` on
};

struct Sizes {
  int64_t rows;
  int64_t columns;
  int64_t depth;  // at least 1
};

// to = (add ? to : bias, or 0) + factor * a · b
template <typename T, typename To>
struct Result {
  To* to = nullptr;  // element (i, j) at i * stride + j
  int64_t stride = 0;
  double factor = 1;
  bool add = false;
  const T* bias = nullptr;  // [columns]; only if To is T and `add` is false
  Triangle triangle = Triangle::kBoth;
};

// Multiplies and sums in T, on the host's threads. To is T, or double if T is float. From is T, or
// float if T is double, or a 16-bit type if T is float; bfloat16 by pairs if multiplies_pairs().
template <typename T, typename To, typename From = T>
void multiply(const Operand<From>& a, const Operand<From>& b, const Sizes& sizes,
              const Result<T, To>& result);

// Packs `count` x depth elements into panels of `width`, each [depth, width], padded with
// zeros.
template <typename From, typename T>
void pack(Isa isa, const Operand<From>& from, int64_t count, int64_t depth, int64_t width, T* to);
// `depth` pairs, only where multiplies_pairs().
template <>
void pack(Isa isa, const Operand<Bfloat16Pair>& from, int64_t count, int64_t depth, int64_t width,
          Bfloat16Pair* to);

}  // namespace quench::matrix
