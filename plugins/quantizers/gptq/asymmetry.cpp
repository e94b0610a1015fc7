#include "quantizers/gptq/asymmetry.hpp"

#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/triu.h>

#include <vector>

#include "shared/matrix/product.hpp"

namespace quench::quantizers {

void add_correction(Factor& factor, const at::Tensor& cross, double rows, double alpha) {
  const std::vector<int64_t> order(factor.perm.begin(), factor.perm.end());
  const at::Device device = factor.upper.device();
  const at::Tensor index = at::tensor(order, at::kLong).to(device);
  const at::Tensor here = cross.to(device);
  const at::Tensor moved = here.index_select(0, index).index_select(1, index).mul_(2 / rows);
  at::Tensor product = matrix::product(moved, factor.upper.t());
  factor.correction = matrix::product(product.triu_(1), factor.upper).mul_(alpha);
}

}  // namespace quench::quantizers
