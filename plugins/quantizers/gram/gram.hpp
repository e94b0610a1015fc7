// The Gram matrix of a group's input rows, G = sum of w * x * x', and what follows from it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "quench/abi/kind/quantizer.h"

namespace quench::quantizers {

// Squared output errors summed over the observed rows.
struct OutputError {
  double error;      // tr(D G D'), D = weight - dequantized
  double reference;  // tr(W G W')
};

// Rows go into a panel of kPanelRows rows, each times sqrt(w). A full panel P is multiplied, P'P,
// and added to G in float64; only block columns of the upper triangle are computed. Panels follow
// the sequence of counted rows, so the bits of G depend neither on how the rows were split into
// calls nor on threads. All of it runs on the device of the rows. Memory: G, the panel, one block
// column.
//
// P'P is float64 for at most kFloat64Columns columns, for rows in float64, and when the owner asks
// for it; else float32, at half the time. Its rounding in float32 is 1e-7 of the diagonal, which
// rank-deficient inputs magnify by 1 / damp on their way into GPTQ's scales. Narrow groups can have
// that corrected for little; wide ones are where the products take the time.
class Gram {
 public:
  static constexpr int64_t kPanelRows = 1024;
  static constexpr int64_t kBlockColumns = 256;
  static constexpr int64_t kFloat64Columns = 1024;

  // `float64`: products in float64 for any number of columns.
  Gram(int64_t in_features, bool float64)
      : columns_(in_features), float64_(float64 || in_features <= kFloat64Columns) {}

  // Refuses rows with NaN or Inf, weights that are negative or not finite, indices out of range,
  // and a change of dtype. A row of weight 0 is a row that is not there. Where both are given and
  // row_weight has as many elements as row_index, weights belong to the indexed rows in that order;
  // else they belong to the rows of x.
  void observe(const quench_observe_args& args);
  // Takes a copy of the upper triangle of G, sum `rows` of weights. Only before any row came.
  void set(const quench_tensor& gram, double rows);

  // Bytes that it holds once a row has come.
  static uint64_t bytes(int64_t in_features, bool float64);

  bool empty() const { return rows_ == 0; }
  double rows() const { return rows_; }
  // float64 [in, in], both triangles. FAILED_PRECONDITION without rows. Rows may still be observed
  // afterwards; the panel then starts anew.
  const at::Tensor& matrix();
  // Both views [out, in], any float dtype. Products in the dtype of the observed rows, float32 at
  // least, sums in float64. FAILED_PRECONDITION without rows.
  OutputError output_error(const quench_tensor& weight, const quench_tensor& dequantized);

 private:
  void append(const at::Tensor& rows, const std::vector<double>& roots);
  void flush();
  void add_panel(const at::Tensor& rows);
  void mirror();
  // Adds x G x' of the rows x of each half of `rows` [2n, in] to sums[half].
  void add_quadratic_forms(const at::Tensor& gram, const at::Tensor& rows, double* sums);

  int64_t columns_;
  bool float64_;
  double rows_ = 0;
  int64_t filled_ = 0;    // rows in the panel
  bool mirrored_ = true;  // both triangles agree
  at::ScalarType row_type_ = at::ScalarType::Undefined;
  at::Tensor panel_;   // [kPanelRows, in]
  at::Tensor matrix_;  // [in, in] float64
};

}  // namespace quench::quantizers
