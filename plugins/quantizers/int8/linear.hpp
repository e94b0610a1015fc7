// A linear with int8 codes for weight and inputs, except for inputs that are too large.
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
  bool half = true;  // round to float16 before coding
};

class Int8Linear {
 public:
  // `weight` [out, in] in host memory. Throws NUMERICAL with `name` if a value exceeds float16
  // (float32 without `half`).
  Int8Linear(const at::Tensor& weight, const Int8Options& options, std::string name);

  // y [N, out] = x [N, in] times the weight, both in host memory, float64, float32 or 16 bits:
  // codes times codes in int32, and outliers times the decoded weight in float. The rows of one
  // call are one batch.
  void apply(const at::Tensor& x, const at::Tensor& y) const;

  const Int8Rows& weight() const { return weight_; }
  // The decoded weight, float32 [out, in].
  const at::Tensor& decoded() const { return decoded_; }
  // The number of columns with outliers in the last batch.
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
