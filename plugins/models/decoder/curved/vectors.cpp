#include "models/decoder/curved/vectors.hpp"

#include <utility>

namespace quench::decoder {

void CurvedVectors::add_weight(const at::Tensor& weight, int64_t offset) {
  offsets_.emplace(weight.const_data_ptr(), offset);
}

void CurvedVectors::use(at::Tensor to, at::Tensor direction) {
  to_ = std::move(to);
  direction_ = std::move(direction);
}

at::Tensor CurvedVectors::to(const at::Tensor& weight) const {
  return part(to_, weight);
}

at::Tensor CurvedVectors::direction(const at::Tensor& weight) const {
  return part(direction_, weight);
}

at::Tensor CurvedVectors::part(const at::Tensor& vector, const at::Tensor& weight) const {
  if (!vector.defined() || !weight.defined()) {
    return {};
  }
  return vector.narrow(0, offsets_.at(weight.const_data_ptr()), weight.numel())
      .view(weight.sizes());
}

}  // namespace quench::decoder
