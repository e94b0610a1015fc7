// The coded linear on a device: codes and what becomes of the sums by kernels, products by
// libtorch. Without outliers, its outputs are those of Int8Linear to the bit; the products of
// outliers are added in another order.
#pragma once

#include "quantizers/int8/coded_linear.hpp"

namespace quench::quantizers {

class LinearOnDevice final : public CodedLinear {
 public:
  LinearOnDevice(const at::Tensor& weight, const Int8Options& options, std::string name);

  void apply(const at::Tensor& x, const at::Tensor& y) const override;
  void inputs(const at::Tensor& x, const at::Tensor& rounded) const override;
  Int8Rows weight() const override;
  at::Tensor decoded() const override;
  int64_t outlier_columns() const override { return outlier_columns_; }

 private:
  // What is coded of inputs, their codes [N or more, in or more] and maxima [N], and the columns
  // with outliers, bool [in]; undefined without a threshold.
  struct Coded {
    at::Tensor values;
    at::Tensor codes;
    at::Tensor maxima;
    at::Tensor outlier;
  };
  Coded coded(const at::Tensor& x) const;
  // The columns in which a value reaches the threshold, bool [in]; undefined without a threshold.
  at::Tensor columns_with_outliers(const at::Tensor& values) const;
  // Adds the products of the values that are not coded to `out`.
  void add_outliers(const at::Tensor& x, const at::Tensor& values, const at::Tensor& columns,
                    const at::Tensor& out) const;
  // Part of the decoded weight, float32: all columns, or those listed.
  at::Tensor decoded_columns(const at::Tensor& columns) const;

  Int8Options options_;
  std::string name_;
  int64_t out_;
  int64_t in_;
  at::Tensor codes_;   // int8 [out, in], both rounded up to a multiple of 8; the rest is 0
  at::Tensor maxima_;  // float32 [out]
  mutable int64_t outlier_columns_ = 0;
};

// sums [M, N] = a [M, K] times b [N, K] transposed, int8 with exact int32 sums. For M > 16, and N
// and K that are multiples of 8: a GPU's library multiplies no others.
at::Tensor int8_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace quench::quantizers
