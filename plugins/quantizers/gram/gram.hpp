// The Gram matrix of a group's input rows, G = sum of w * x * x', and output errors computed from
// it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "quantizers/gram/device_panel.hpp"
#include "quench/abi/kind/quantizer.h"

namespace quench::quantizers {

// Squared output errors, summed over the observed rows.
struct OutputError {
  double error;      // tr(D G D'), D = weight - dequantized
  double reference;  // tr(W G W')
};

// Rows are scaled by sqrt(w) and collected in a panel of kPanelRows rows. The product P'P of a full
// panel is added to G in float64; only block columns of the upper triangle are computed. Panels
// follow the sequence of counted rows, so the bits of G depend neither on the split of rows into
// calls nor on threads. Everything runs on the device of the rows. Memory: G, the panel and one
// block column.
//
// P'P is float64 for at most kFloat64Columns columns, for float64 rows, and on the owner's request;
// otherwise float32, which takes half the time. The rounding of float32 is 1e-7 of the diagonal.
// Rank-deficient inputs magnify it by 1 / damp on the way into GPTQ's scales. Narrow groups can
// avoid this at little cost; in wide groups the products dominate the time.
//
// On a GPU, rows of 16 bits without weights are multiplied as they are, in larger panels, for any
// number of columns unless the owner asks for float64 (device_panel.hpp). Nothing waits for the GPU
// there: rows that are not finite are found when the matrix is read.
class Gram {
 public:
  static constexpr int64_t kPanelRows = 1024;
  static constexpr int64_t kBlockColumns = 256;
  static constexpr int64_t kFloat64Columns = 1024;

  // `float64`: compute products in float64 for any number of columns.
  Gram(int64_t in_features, bool float64)
      : columns_(in_features),
        asked_float64_(float64),
        float64_(float64 || in_features <= kFloat64Columns) {}

  // Throws for rows with NaN or Inf, weights that are negative or not finite, indices out of range,
  // and a change of dtype. A row of weight 0 does not count. If both are given and row_weight has
  // as many elements as row_index, weights belong to the indexed rows in that order; otherwise they
  // belong to the rows of x.
  void observe(const quench_observe_args& args);
  // Copies the upper triangle of G; `rows` is the sum of weights. Only before the first row.
  void set(const quench_tensor& gram, double rows);

  // Bytes that it holds from the first row on.
  static uint64_t bytes(int64_t in_features, bool float64);
  // The same on a GPU, of rows of `element` bytes a value.
  static uint64_t bytes_on_device(int64_t in_features, bool float64, uint64_t element);

  bool empty() const { return rows_ == 0; }
  double rows() const { return rows_; }
  // float64 [in, in] with both triangles. Throws FAILED_PRECONDITION without rows. More rows may be
  // observed afterwards, in a new panel.
  const at::Tensor& matrix();
  // Both views are [out, in] in any float dtype. Products are in the dtype of the observed rows, at
  // least float32; sums in float64. Throws FAILED_PRECONDITION without rows.
  OutputError output_error(const quench_tensor& weight, const quench_tensor& dequantized);

 private:
  void start(const at::Tensor& x);
  void append(const at::Tensor& rows, const std::vector<double>& roots);
  void give_panel(at::ScalarType type);
  int64_t panel_rows() const;
  void flush();
  void add_panel(const at::Tensor& rows);
  void mirror();
  void check_diagonal() const;
  // Adds x G x' to sums[half], for the rows x of each half of `rows` [2n, in].
  void add_quadratic_forms(const at::Tensor& gram, const at::Tensor& rows, double* sums);

  int64_t columns_;
  bool asked_float64_;
  bool float64_;
  bool on_device_ = false;  // libtorch multiplies
  double rows_ = 0;
  int64_t filled_ = 0;    // rows in the panel
  bool mirrored_ = true;  // both triangles are filled
  at::ScalarType row_type_ = at::ScalarType::Undefined;
  at::Tensor panel_;   // [panel_rows(), in]
  at::Tensor matrix_;  // [in, in] float64
  PanelSum panels_;    // on a device
};

}  // namespace quench::quantizers
