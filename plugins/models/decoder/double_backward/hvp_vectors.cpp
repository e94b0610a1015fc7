#include "models/decoder/double_backward/hvp_vectors.hpp"

#include <utility>

#include "models/decoder/derived_weight.hpp"

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
  if (!weight.defined()) {
    return {};
  }
  const auto found = offsets_.find(weight.const_data_ptr());
  if (found == offsets_.end()) {
    refuse_derived(weight);
  }
  return vector.defined() ? vector.narrow(0, found->second, weight.numel()).view(weight.sizes())
                          : vector;
}

}  // namespace quench::decoder
