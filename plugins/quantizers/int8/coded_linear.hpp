// A linear with int8 codes for weight and inputs, except for inputs that are too large.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "quantizers/int8/vectorwise.hpp"

namespace quench::quantizers {

struct Int8Options {
  Outliers outliers;
  bool half = true;  // round to float16 before coding
};

class CodedLinear {
 public:
  CodedLinear() = default;
  CodedLinear(const CodedLinear&) = delete;
  CodedLinear& operator=(const CodedLinear&) = delete;
  virtual ~CodedLinear() = default;

  // y [N, out] = x [N, in] times the weight, both where the weight is, float64, float32 or 16 bits:
  // codes times codes in int32, and outliers times the decoded weight in float. The rows of one
  // call are one batch.
  virtual void apply(const at::Tensor& x, const at::Tensor& y) const = 0;
  // What apply() multiplies the decoded weight by: `rounded` [N, in], what codes of x stand for,
  // and x where it is not coded.
  virtual void inputs(const at::Tensor& x, const at::Tensor& rounded) const = 0;
  // The codes, in host memory.
  virtual Int8Rows weight() const = 0;
  // The decoded weight, float32 [out, in], where the weight is.
  virtual at::Tensor decoded() const = 0;
  // The number of columns with outliers in the last batch.
  virtual int64_t outlier_columns() const = 0;
};

// `weight` [out, in], which says where the linear computes. Throws NUMERICAL with `name` if a value
// exceeds float16 (float32 without `half`).
std::unique_ptr<CodedLinear> coded_linear(const at::Tensor& weight, const Int8Options& options,
                                          const std::string& name);

// `decoded`, what codes of inputs x stand for, with x in the places that are not coded. `values` is
// what was coded of x, `columns` int64 those with outliers.
at::Tensor with_outliers(const at::Tensor& decoded, const at::Tensor& x, const at::Tensor& values,
                         const at::Tensor& columns, const Outliers& outliers);

// What is coded of a weight or an input: float32, C order; rounded to float16 first if asked.
at::Tensor to_code(const at::Tensor& values, bool half);

}  // namespace quench::quantizers
