#include "core/run/float_weights.hpp"

namespace quench {

void FloatWeights::keep(const std::string& name, const HostTensor& value) {
  values_.try_emplace(name, value);
}

const HostTensor* FloatWeights::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? &found->second : nullptr;
}

void FloatWeights::keep_op(uint32_t block, uint32_t group, uint32_t linear) {
  ops_.push_back({block, group, linear});
}

void FloatWeights::put_back(const std::string& name) const {
  model_.weight_set(name, values_.at(name).view());
}

void FloatWeights::restore() {
  for (const Op& op : ops_) {
    model_.set_linear_op(op.block, op.group, op.linear, nullptr);
  }
  for (const auto& [name, value] : values_) {
    model_.weight_set(name, value.view());
  }
  ops_.clear();
  values_.clear();
}

}  // namespace quench
