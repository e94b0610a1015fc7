#include "quantizers/int8/linear.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

std::span<const float> span_of(const at::Tensor& values) {
  return {values.const_data_ptr<float>(), static_cast<size_t>(values.numel())};
}

Int8Rows code_weight(const at::Tensor& weight, bool half, const std::string& name) {
  const at::Tensor values = to_code(weight, half);
  const std::string what = name + ": weight" + (half ? ", as float16" : "");
  return code_rows(span_of(values), weight.size(1), {}, what.c_str()).rows;
}

template <typename T>
at::Tensor decode(const Int8Rows& rows) {
  const auto count = static_cast<int64_t>(rows.maxima.size());
  at::Tensor out = at::empty({count, rows.columns}, c10::CppTypeToScalarType<T>::value);
  T* to = out.data_ptr<T>();
  for (size_t i = 0; i < rows.codes.size(); ++i) {
    const double maximum = rows.maxima[i / static_cast<size_t>(rows.columns)];
    to[i] = static_cast<T>(rows.codes[i] * maximum / 127);
  }
  return out;
}

}  // namespace

Int8Linear::Int8Linear(const at::Tensor& weight, const Int8Options& options, std::string name)
    : options_(options),
      name_(std::move(name)),
      weight_(code_weight(weight, options.half, name_)),
      matrix_(weight_.codes, weight.size(0), weight.size(1)),
      decoded_(decode<float>(weight_)) {}

CodedRows Int8Linear::coded(const at::Tensor& values) const {
  const std::string what = name_ + ": input" + (options_.half ? ", as float16" : "");
  return code_rows(span_of(values), values.size(1), options_.outliers, what.c_str());
}

at::Tensor Int8Linear::coded_part(const CodedRows& coded, at::ScalarType type) const {
  const auto rows = static_cast<int64_t>(coded.rows.maxima.size());
  const int64_t columns = matrix_.columns();
  at::Tensor out = at::empty({rows, columns}, at::TensorOptions(type));
  const auto fill = [&](auto* to) {
    using T = std::remove_pointer_t<decltype(to)>;
    matrix_.multiply(coded.rows.codes, [&](int64_t row, std::span<const int32_t> sums) {
      const double factor = coded.rows.maxima[static_cast<size_t>(row)] / (127.0 * 127.0);
      T* into = to + row * columns;
      for (size_t c = 0; c < sums.size(); ++c) {
        into[c] = static_cast<T>(sums[c] * (factor * weight_.maxima[c]));
      }
    });
  };
  if (type == at::kDouble) {
    fill(out.data_ptr<double>());
  } else {
    fill(out.data_ptr<float>());
  }
  return out;
}

void Int8Linear::apply(const at::Tensor& x, const at::Tensor& y) const {
  const at::Tensor values = to_code(x, options_.half);
  const CodedRows coded = this->coded(values);
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor out = coded_part(coded, type);
  outlier_columns_ = static_cast<int64_t>(coded.outlier_columns.size());
  if (outlier_columns_ > 0) {
    const at::Tensor columns = at::tensor(coded.outlier_columns, at::TensorOptions(at::kLong));
    at::Tensor large = at::index_select(x.to(type), 1, columns);
    if (options_.outliers.scope == OutlierScope::kRow) {
      const at::Tensor sizes = at::index_select(values, 1, columns).abs();
      large = at::where(sizes.ge(options_.outliers.threshold), large, at::zeros_like(large));
    }
    const at::Tensor weight = at::index_select(decoded_, 1, columns).to(type);
    matrix::add_product(out, large, weight.t());
  }
  kit::for_row_blocks(y, [&](int64_t first, int64_t count) {
    y.narrow(0, first, count).copy_(out.narrow(0, first, count));
  });
}

void Int8Linear::inputs(const at::Tensor& x, const at::Tensor& rounded) const {
  const at::Tensor values = to_code(x, options_.half);
  const CodedRows coded = this->coded(values);
  at::Tensor out =
      x.scalar_type() == at::kDouble ? decode<double>(coded.rows) : decode<float>(coded.rows);
  if (!coded.outlier_columns.empty()) {
    const at::Tensor columns = at::tensor(coded.outlier_columns, at::TensorOptions(at::kLong));
    out = with_outliers(out, x, values, columns, options_.outliers);
  }
  rounded.copy_(out);
}

}  // namespace quench::quantizers
