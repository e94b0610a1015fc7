#include "models/decoder/double_backward/hvp_vectors.hpp"

#include <utility>

namespace quench::decoder {

void HvpVectors::add_weight(const at::Tensor& weight, int64_t offset) {
  offsets_.emplace(weight.const_data_ptr(), offset);
}

void HvpVectors::use(at::Tensor to, at::Tensor direction) {
  to_ = std::move(to);
  direction_ = std::move(direction);
}

at::Tensor HvpVectors::to(const at::Tensor& weight) const {
  return part(to_, weight);
}

at::Tensor HvpVectors::direction(const at::Tensor& weight) const {
  return part(direction_, weight);
}

at::Tensor HvpVectors::part(const at::Tensor& vector, const at::Tensor& weight) const {
  if (!vector.defined() || !weight.defined()) {
    return {};
  }
  return vector.narrow(0, offsets_.at(weight.const_data_ptr()), weight.numel())
      .view(weight.sizes());
}

}  // namespace quench::decoder
