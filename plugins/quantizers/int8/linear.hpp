// A linear whose weight and inputs are int8 codes, but for the inputs that are too large.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "quantizers/int8/product.hpp"
#include "quantizers/int8/vectorwise.hpp"
#include "quench/abi/kind/model.h"

namespace quench::quantizers {

struct Int8Options {
  Outliers outliers;
  bool half = true;  // what is coded is rounded to float16 before
};

class Int8Linear {
 public:
  // `weight` [out, in] in host memory. NUMERICAL with `name` where a value is beyond float16 (or,
  // without `half`, float32).
  Int8Linear(const at::Tensor& weight, const Int8Options& options, std::string name);

  // y [N, out] = x [N, in] times the weight, both in host memory, float64, float32 or 16 bits:
  // codes times codes in int32, and outliers times the decoded weight in float. Rows of one call
  // are one batch.
  void apply(const at::Tensor& x, const at::Tensor& y) const;

  const Int8Rows& weight() const { return weight_; }
  // float32 [out, in].
  const at::Tensor& decoded() const { return decoded_; }
  // Columns that had outliers in the last batch.
  int64_t outlier_columns() const { return outlier_columns_; }

 private:
  at::Tensor coded_part(const CodedRows& coded, at::ScalarType type) const;

  Int8Options options_;
  std::string name_;
  Int8Rows weight_;
  Int8Matrix matrix_;
  at::Tensor decoded_;
  mutable int64_t outlier_columns_ = 0;
};

}  // namespace quench::quantizers
