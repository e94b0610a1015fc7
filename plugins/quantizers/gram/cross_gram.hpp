// C = sum of w * (y - x) x' over the rows of two streams, y of the float model and x of the
// quantized one. It measures how far quantization has moved a group's inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "quench/abi/kind/quantizer.h"

namespace quench::quantizers {

// Rows pass through panels into float64 as in gram.hpp. All columns of C are computed, because C is
// not symmetric. Memory: C, two panels and one block column.
class CrossGram {
 public:
  CrossGram(int64_t in_features, bool float64);

  // Bytes that it holds from the first row on.
  static uint64_t bytes(int64_t in_features, bool float64);

  // Needs args.float_x in the shape of args.x, else throws FAILED_PRECONDITION. The same rows and
  // weights count as in Gram.
  void observe(const quench_observe_args& args);
  // C [in, in] float64: row i belongs to y_i - x_i, column k to x_k. Zeros before the first row.
  const at::Tensor& matrix();

 private:
  void append(const at::Tensor& moved, const at::Tensor& rows, const std::vector<double>& roots);
  void flush();

  int64_t columns_;
  bool float64_;
  int64_t filled_ = 0;
  at::Tensor moved_;   // [kPanelRows, in], y - x
  at::Tensor rows_;    // [kPanelRows, in], x
  at::Tensor matrix_;  // [in, in] float64
};

}  // namespace quench::quantizers
