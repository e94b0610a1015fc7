#include "core/inputs/weights/float_weights.hpp"

#include <utility>

namespace quench {

namespace {

using SharedOp = std::shared_ptr<const quench_linear_op>;

const SharedOp& op_of(void* context) {
  return *static_cast<const SharedOp*>(context);
}

SharedOp owned(const quench_linear_op& op) {
  return {new quench_linear_op(op), [](const quench_linear_op* last) {
            if (last->release != nullptr) {
              last->release(last->context);
            }
            delete last;
          }};
}

// An operation for the model, which releases its share of `op`.
quench_linear_op share_of(const SharedOp& op) {
  return {sizeof(quench_linear_op), new SharedOp(op),
          [](void* context, const quench_tensor* x, const quench_tensor* y, void* stream,
             quench_error* error) noexcept {
            const SharedOp& own = op_of(context);
            return own->apply(own->context, x, y, stream, error);
          },
          [](void* context) noexcept { delete static_cast<SharedOp*>(context); }};
}

}  // namespace

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

void FloatWeights::set_op(uint32_t block, uint32_t group, uint32_t linear,
                          const quench_linear_op& op) {
  const Op made{block, group, linear, owned(op)};
  give_op(made);
  ops_.push_back(made);
}

void FloatWeights::give_op(const Op& op) const {
  const quench_linear_op share = share_of(op.op);
  model_.set_linear_op(op.block, op.group, op.linear, &share);
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
  ops_are_set_ = true;
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
  for (const Op& op : ops_) {
    if (ops_are_set_) {
      model_.set_linear_op(op.block, op.group, op.linear, nullptr);
    } else {
      give_op(op);
    }
  }
  ops_are_set_ = !ops_are_set_;
}

}  // namespace quench
