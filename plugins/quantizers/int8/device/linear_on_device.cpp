#include "quantizers/int8/device/linear_on_device.hpp"

#include <ATen/ops/_int_mm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quantizers/int8/device/entries.hpp"
#include "quantizers/int8/product.hpp"
#include "quench/kit/error.hpp"
#include "shared/cuda/run_kernel.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kAligned = 8;              // of the sizes that int8_product() multiplies
constexpr int64_t kLeastRows = 24;           // more than 16
constexpr int64_t kHeld = int64_t{1} << 23;  // decoded values that are float64 at once

int64_t round_up(int64_t value) {
  return (value + kAligned - 1) / kAligned * kAligned;
}

// The plain loop finds the place and says it.
void refuse_not_finite(const at::Tensor& values, const Outliers& outliers,
                       const std::string& what) {
  if (!at::isfinite(values).all().item<bool>()) {
    const at::Tensor host = values.to(at::kCPU);
    const std::span<const float> all(host.const_data_ptr<float>(),
                                     static_cast<size_t>(host.numel()));
    code_rows(all, host.size(1), outliers, what.c_str());
  }
}

// Writes codes and maxima. `outlier` names columns whose codes are 0; it may be undefined.
void code(const at::Tensor& values, float limit, const at::Tensor& outlier, const at::Tensor& codes,
          const at::Tensor& maxima) {
  const CodeRows kernel{values.const_data_ptr<float>(),
                        values.size(0),
                        values.size(1),
                        codes.size(1),
                        limit,
                        outlier.defined() ? outlier.const_data_ptr<bool>() : nullptr,
                        codes.data_ptr<int8_t>(),
                        maxima.data_ptr<float>()};
  cuda::run_kernel(kInt8CodeRows, kernel, values.device());
}

template <typename T>
void decode_sums(const at::Tensor& sums, const at::Tensor& row_maxima,
                 const at::Tensor& column_maxima, const at::Tensor& to, const char* entry) {
  const DecodeSums<T> kernel{sums.const_data_ptr<int32_t>(),
                             to.size(0),
                             to.size(1),
                             sums.size(1),
                             row_maxima.const_data_ptr<float>(),
                             column_maxima.const_data_ptr<float>(),
                             to.data_ptr<T>()};
  cuda::run_kernel(entry, kernel, sums.device());
}

}  // namespace

at::Tensor int8_product(const at::Tensor& a, const at::Tensor& b) {
  return at::_int_mm(a, b.t());
}

LinearOnDevice::LinearOnDevice(const at::Tensor& weight, const Int8Options& options,
                               std::string name)
    : options_(options),
      name_(std::move(name)),
      out_(weight.size(0)),
      in_(weight.size(1)),
      codes_(at::zeros({round_up(out_), round_up(in_)}, weight.options().dtype(at::kChar))),
      maxima_(at::empty({out_}, weight.options().dtype(at::kFloat))) {
  kit::expects(in_ <= kMostInt8Columns, "int8: too many input columns for int32 sums");
  const at::Tensor values = to_code(weight, options.half);
  refuse_not_finite(values, {}, name_ + ": weight" + (options.half ? ", as float16" : ""));
  code(values, HUGE_VALF, {}, codes_, maxima_);
}

at::Tensor LinearOnDevice::columns_with_outliers(const at::Tensor& values) const {
  if (!(options_.outliers.threshold > 0)) {
    return {};
  }
  return values.abs().ge(options_.outliers.threshold).any(0);
}

LinearOnDevice::Coded LinearOnDevice::coded(const at::Tensor& x) const {
  const int64_t rows = x.size(0);
  const Outliers& outliers = options_.outliers;
  const at::Tensor values = to_code(x, options_.half);
  refuse_not_finite(values, outliers, name_ + ": input" + (options_.half ? ", as float16" : ""));
  const at::Tensor outlier = columns_with_outliers(values);
  const at::Tensor codes =
      at::zeros({std::max(rows, kLeastRows), codes_.size(1)}, codes_.options());
  const at::Tensor maxima = at::empty({rows}, maxima_.options());
  const float limit = outlier.defined() ? static_cast<float>(outliers.threshold) : HUGE_VALF;
  code(values, limit, outliers.scope == OutlierScope::kBatch ? outlier : at::Tensor(), codes,
       maxima);
  return {values, codes, maxima, outlier};
}

void LinearOnDevice::inputs(const at::Tensor& x, const at::Tensor& rounded) const {
  const int64_t rows = x.size(0);
  if (rows == 0) {
    return;
  }
  const auto [values, codes, maxima, outlier] = coded(x);
  const bool wide = x.scalar_type() == at::kDouble;
  at::Tensor out = codes.narrow(0, 0, rows)
                       .narrow(1, 0, in_)
                       .to(at::kDouble)
                       .mul_(maxima.unsqueeze(1))
                       .div_(127)
                       .to(wide ? at::kDouble : at::kFloat);
  if (outlier.defined()) {
    out = with_outliers(out, x, values, outlier.nonzero().squeeze(1), options_.outliers);
  }
  rounded.copy_(out);
}

void LinearOnDevice::apply(const at::Tensor& x, const at::Tensor& y) const {
  const int64_t rows = x.size(0);
  if (rows == 0) {
    return;
  }
  const auto [values, codes, maxima, outlier] = coded(x);
  const at::Tensor sums = int8_product(codes, codes_);
  const bool wide = x.scalar_type() == at::kDouble;
  const at::Tensor out =
      at::empty({rows, out_}, maxima_.options().dtype(wide ? at::kDouble : at::kFloat));
  if (wide) {
    decode_sums<double>(sums, maxima, maxima_, out, kInt8SumsToDouble);
  } else {
    decode_sums<float>(sums, maxima, maxima_, out, kInt8SumsToFloat);
  }
  outlier_columns_ = 0;
  if (outlier.defined()) {
    const at::Tensor columns = outlier.nonzero().squeeze(1);
    outlier_columns_ = columns.size(0);
    if (outlier_columns_ > 0) {
      add_outliers(x, values, columns, out);
    }
  }
  y.copy_(out);
}

void LinearOnDevice::add_outliers(const at::Tensor& x, const at::Tensor& values,
                                  const at::Tensor& columns, const at::Tensor& out) const {
  at::Tensor large = at::index_select(x.to(out.scalar_type()), 1, columns);
  if (options_.outliers.scope == OutlierScope::kRow) {
    const at::Tensor sizes = at::index_select(values, 1, columns).abs();
    large = at::where(sizes.ge(options_.outliers.threshold), large, at::zeros_like(large));
  }
  matrix::add_product(out, large, decoded_columns(columns).to(out.scalar_type()).t());
}

at::Tensor LinearOnDevice::decoded_columns(const at::Tensor& columns) const {
  const at::Tensor own = codes_.narrow(0, 0, out_).narrow(1, 0, in_);
  const at::Tensor codes = columns.defined() ? at::index_select(own, 1, columns) : own;
  at::Tensor made = at::empty(codes.sizes(), maxima_.options());
  const int64_t most = std::max<int64_t>(1, kHeld / std::max<int64_t>(1, codes.size(1)));
  for (int64_t first = 0; first < out_; first += most) {
    const int64_t count = std::min(most, out_ - first);
    made.narrow(0, first, count)
        .copy_(codes.narrow(0, first, count)
                   .to(at::kDouble)
                   .mul_(maxima_.narrow(0, first, count).unsqueeze(1))
                   .div_(127));
  }
  return made;
}

at::Tensor LinearOnDevice::decoded() const {
  return decoded_columns({});
}

Int8Rows LinearOnDevice::weight() const {
  const at::Tensor codes = codes_.narrow(0, 0, out_).narrow(1, 0, in_).contiguous().to(at::kCPU);
  const at::Tensor maxima = maxima_.to(at::kCPU);
  const auto* first = codes.const_data_ptr<int8_t>();
  const auto* first_maximum = maxima.const_data_ptr<float>();
  return {in_, {first, first + codes.numel()}, {first_maximum, first_maximum + out_}};
}

}  // namespace quench::quantizers
