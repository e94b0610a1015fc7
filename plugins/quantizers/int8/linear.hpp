// The coded linear in host memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "quantizers/int8/coded_linear.hpp"
#include "quantizers/int8/product.hpp"

namespace quench::quantizers {

class Int8Linear final : public CodedLinear {
 public:
  Int8Linear(const at::Tensor& weight, const Int8Options& options, std::string name);

  void apply(const at::Tensor& x, const at::Tensor& y) const override;
  void inputs(const at::Tensor& x, const at::Tensor& rounded) const override;
  Int8Rows weight() const override { return weight_; }
  at::Tensor decoded() const override { return decoded_; }
  int64_t outlier_columns() const override { return outlier_columns_; }

 private:
  // Of `values`, what is coded of inputs.
  CodedRows coded(const at::Tensor& values) const;
  at::Tensor coded_part(const CodedRows& coded, at::ScalarType type) const;

  Int8Options options_;
  std::string name_;
  Int8Rows weight_;
  Int8Matrix matrix_;
  at::Tensor decoded_;
  mutable int64_t outlier_columns_ = 0;
};

}  // namespace quench::quantizers
