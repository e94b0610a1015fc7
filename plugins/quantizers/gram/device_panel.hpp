// Products with the Gram matrix where libtorch computes them, on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quench::quantizers {

// Rows of a panel there. Tensor cores add products of 16-bit rows in float32 and cut what they
// shift out, so a diagonal element loses 2e-6 of itself in a panel of 1024 rows and 5e-6 in one of
// 2048, measured on an H100; float32's own products lose 2e-6.
inline constexpr int64_t kDevicePanelRows = 2048;

// Rows that are multiplied at once: of a narrow group a panel keeps only a part of a GPU busy, so
// eight are one call.
inline constexpr int64_t rows_at_once(int64_t columns) {
  return columns <= 1024 ? 8 * kDevicePanelRows : kDevicePanelRows;
}

// The sum of rowsᵀ · rows over panels, in the upper triangle of a float64 matrix [n, n]. Products
// of 16-bit rows are exact; those of others are of the rows' type.
//
// A float64 addition of a whole matrix takes as long as a panel's products, so panels are first
// added to each other in float32, kTogether of them, where there is memory for that.
class PanelSum {
 public:
  // Keeps a float32 matrix beside `to` if that has at most kWidest columns.
  static constexpr int64_t kTogether = 16;
  static constexpr int64_t kWidest = 16384;

  // What it holds; `float64`: of products that are.
  static uint64_t bytes(int64_t columns, bool float64);

  // At most rows_at_once() rows. What lies below the diagonal of `to` is not defined afterwards.
  void add(const at::Tensor& to, const at::Tensor& rows);
  // Adds to `to` what add() has not yet added.
  void finish(const at::Tensor& to);

 private:
  void add_several(const at::Tensor& to, const at::Tensor& rows);

  at::Tensor together_;  // [n, n] float32, its upper triangle
  int64_t panels_ = 0;   // in it
};

// Adds Σ x G xᵀ over the first half of `rows` to sums[0], over the second half to sums[1]; `sums`
// and all else is float64 in the memory of `gram`. G is symmetric, so half its products suffice.
void add_quadratic_forms_on_device(const at::Tensor& gram, const at::Tensor& rows,
                                   const at::Tensor& sums);

}  // namespace quench::quantizers
