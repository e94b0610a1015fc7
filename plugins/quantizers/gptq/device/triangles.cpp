#include "quantizers/gptq/device/triangles.hpp"

#include <ATen/ops/bmm.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/mm.h>

#include <algorithm>

namespace quench::quantizers {

namespace {

constexpr int64_t kLeastTriangle = 32;  // of triangles that are solved

at::Tensor solved(const at::Tensor& lower) {
  const at::Tensor one = at::eye(lower.size(-1), lower.options()).expand(lower.sizes());
  return at::linalg_solve_triangular(lower, one, /*upper=*/false);
}

// Each block on the diagonal becomes its inverse, all of them at once: first small corners by one
// solve, then pairs of them, as blocks below, and pairs of those. One after the other, solves of
// whole blocks would keep few of a GPU's multiprocessors busy.
void invert_blocks(const at::Tensor& lower, int64_t block) {
  const int64_t n = lower.size(0);
  // A square of `size` for every `every` rows and columns along the diagonal.
  const auto squares = [&](int64_t size, int64_t every, int64_t down, int64_t right) {
    const int64_t row = lower.stride(0);
    const int64_t column = lower.stride(1);
    return lower.as_strided({n / every, size, size}, {every * (row + column), row, column},
                            lower.storage_offset() + down * row + right * column);
  };
  const at::Tensor corners = squares(kLeastTriangle, kLeastTriangle, 0, 0);
  corners.copy_(solved(corners));
  for (int64_t size = kLeastTriangle; size < block; size *= 2) {
    const at::Tensor first = squares(size, 2 * size, 0, 0);
    const at::Tensor below = squares(size, 2 * size, size, 0);
    const at::Tensor second = squares(size, 2 * size, size, size);
    below.copy_(at::bmm(second, at::bmm(below, first)).neg_());
  }
}

}  // namespace

// From the last block column to the first: what is below the diagonal becomes -(inverse of what is
// right of it) * it * (inverse of the block above it).
void invert_lower_on_device(const at::Tensor& lower, int64_t block) {
  const int64_t n = lower.size(0);
  const int64_t whole = n / block * block;
  if (whole > 0) {
    invert_blocks(lower.narrow(0, 0, whole).narrow(1, 0, whole), block);
  }
  for (int64_t begin = (n - 1) / block * block; begin >= 0; begin -= block) {
    const int64_t size = std::min(block, n - begin);
    const int64_t below = n - begin - size;
    const at::Tensor columns = lower.narrow(1, begin, size);
    const at::Tensor inverse = columns.narrow(0, begin, size);
    if (begin == whole) {
      inverse.copy_(solved(inverse));
    }
    if (below > 0) {
      const at::Tensor rest = columns.narrow(0, begin + size, below);
      const at::Tensor right = lower.narrow(0, begin + size, below).narrow(1, begin + size, below);
      rest.copy_(at::mm(right, at::mm(rest, inverse)).neg_());
    }
  }
}

void reverse_and_transpose_in_place(const at::Tensor& matrix, int64_t tile) {
  const int64_t n = matrix.size(0);
  const auto size = [&](int64_t first) { return std::min(tile, n - first); };
  const auto part = [&](int64_t row, int64_t from_right) {
    return matrix.narrow(0, row, size(row))
        .narrow(1, n - from_right - size(from_right), size(from_right));
  };
  for (int64_t p = 0; p < n; p += tile) {
    for (int64_t q = 0; q <= p; q += tile) {
      const at::Tensor one = part(p, q);
      const at::Tensor other = part(q, p);
      const at::Tensor turned = one.flip({0, 1}).t();
      if (q < p) {
        one.copy_(other.flip({0, 1}).t());
      }
      other.copy_(turned);
    }
  }
}

}  // namespace quench::quantizers
