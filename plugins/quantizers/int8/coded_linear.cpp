#include "quantizers/int8/coded_linear.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/where.h>

#include "quantizers/int8/device/linear_on_device.hpp"
#include "quantizers/int8/linear.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

std::unique_ptr<CodedLinear> coded_linear(const at::Tensor& weight, const Int8Options& options,
                                          const std::string& name) {
  if (matrix::on_host(weight)) {
    return std::make_unique<Int8Linear>(weight, options, name);
  }
  return std::make_unique<LinearOnDevice>(weight, options, name);
}

at::Tensor with_outliers(const at::Tensor& decoded, const at::Tensor& x, const at::Tensor& values,
                         const at::Tensor& columns, const Outliers& outliers) {
  const at::Tensor given = x.to(decoded.scalar_type());
  if (outliers.scope == OutlierScope::kRow) {
    return at::where(values.abs().ge(outliers.threshold), given, decoded);
  }
  return decoded.index_copy(1, columns, at::index_select(given, 1, columns));
}

at::Tensor to_code(const at::Tensor& values, bool half) {
  const at::Tensor made = at::empty(values.sizes(), values.options().dtype(at::kFloat));
  kit::for_row_blocks(made, [&](int64_t first, int64_t count) {
    const at::Tensor rows = values.narrow(0, first, count);
    made.narrow(0, first, count).copy_(half ? rows.to(at::kHalf) : rows);
  });
  return made;
}

}  // namespace quench::quantizers
