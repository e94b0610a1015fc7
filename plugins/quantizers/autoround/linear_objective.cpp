#include "quantizers/autoround/linear_objective.hpp"

#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

// In the order of memory, in float64.
template <typename T>
double sum_of_products(const at::Tensor& a, const at::Tensor& b) {
  const T* x = a.const_data_ptr<T>();
  const T* y = b.const_data_ptr<T>();
  double sum = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    sum += static_cast<double>(x[i]) * y[i];
  }
  return sum;
}

}  // namespace

LinearObjective::LinearObjective(TunedLinear& linear, Gram& gram)
    : linear_(linear),
      gram_(gram.matrix().to(at::kCPU).to(linear.weight().scalar_type())),
      outputs_(gram.rows() * static_cast<double>(linear.weight().size(0))) {}

double LinearObjective::errors(at::Tensor& weighted) const {
  const at::Tensor errors = linear_.rounded().sub(linear_.weight());
  weighted = matrix::product(errors, gram_);
  const double sum = errors.scalar_type() == at::kDouble ? sum_of_products<double>(weighted, errors)
                                                         : sum_of_products<float>(weighted, errors);
  return sum / outputs_;
}

double LinearObjective::loss() {
  at::Tensor weighted;
  return errors(weighted);
}

double LinearObjective::descend(std::span<const uint64_t>) {
  at::Tensor weighted;
  const double loss = errors(weighted);
  linear_.gradient().add_(weighted, 2 / outputs_);
  return loss;
}

}  // namespace quench::quantizers
