#include "core/inputs/weights/float_weights.hpp"

#include <utility>

namespace quench {

void FloatWeights::keep(const std::string& name, const HostTensor& value) {
  layers_.back().try_emplace(name, Kept{value, std::nullopt});
}

void FloatWeights::keep(const std::string& name, DeviceTensor value) {
  layers_.back().try_emplace(name, Kept{std::nullopt, std::move(value)});
}

const HostTensor* FloatWeights::find(const std::string& name) const {
  const auto found = layers_.back().find(name);
  if (found == layers_.back().end()) {
    return nullptr;
  }
  const Kept& kept = found->second;
  if (!kept.host) {
    const quench_tensor on_device = kept.device->view();
    kept.host.emplace(
        on_device.dtype,
        std::vector<int64_t>(on_device.shape, on_device.shape + on_device.dimensions));
    model_.copy(on_device, kept.host->view());
  }
  return &*kept.host;
}

void FloatWeights::keep_op(uint32_t block, uint32_t group, uint32_t linear) {
  ops_.push_back({block, group, linear});
}

void FloatWeights::put_back(const std::string& name) const {
  model_.weight_set(name, layers_.back().at(name).view());
}

void FloatWeights::restore() {
  try {
    if (model_.is_alive()) {
      write_back();
    }
  } catch (...) {
    if (model_.is_alive()) {
      throw;
    }
    // Its process has ended meanwhile, and with it what was to be restored.
  }
  ops_.clear();
  layers_.assign(1, {});
}

void FloatWeights::write_back() const {
  for (const Op& op : ops_) {
    model_.set_linear_op(op.block, op.group, op.linear, nullptr);
  }
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    for (const auto& [name, value] : *layer) {
      model_.weight_set(name, value.view());
    }
  }
}

void FloatWeights::take_over(FloatWeights& other) {
  layers_.back().merge(other.layers_.back());
  other.layers_.assign(1, {});
}

void FloatWeights::during_exchange(const std::function<void()>& work) {
  exchange();
  try {
    work();
  } catch (...) {
    exchange();
    throw;
  }
  exchange();
}

void FloatWeights::exchange() {
  for (auto& [name, kept] : layers_.back()) {
    const quench_tensor before = kept.view();
    const std::vector<int64_t> shape(before.shape, before.shape + before.dimensions);
    Kept now;
    if (kept.device) {
      now.device.emplace(model_, before.dtype, shape);
    } else {
      now.host.emplace(before.dtype, shape);
    }
    model_.weight_get(name, now.view());
    model_.weight_set(name, before);
    kept = std::move(now);
  }
}

}  // namespace quench
