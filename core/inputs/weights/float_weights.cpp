#include "core/inputs/weights/float_weights.hpp"

#include <utility>

namespace quench {

namespace {

template <typename Op>
using Shared = std::shared_ptr<const Op>;

template <typename Op>
Shared<Op> owned(const Op& op) {
  return {new Op(op), [](const Op* last) {
            if (last->release != nullptr) {
              last->release(last->context);
            }
            delete last;
          }};
}

// A function of an operation for the model, which calls that of the shared one.
template <auto kFunction, typename Op, typename... Args>
auto shared_call(quench_status (*)(void*, Args...) noexcept) {
  return +[](void* context, Args... args) noexcept -> quench_status {
    const Shared<Op>& own = *static_cast<const Shared<Op>*>(context);
    return ((*own).*kFunction)(own->context, args...);
  };
}

// An operation for the model, which calls `op` and releases its share of it.
template <typename Op>
Op share_of(const Shared<Op>& op) {
  Op share{};
  share.struct_size = sizeof(Op);
  share.context = new Shared<Op>(op);
  share.apply = shared_call<&Op::apply, Op>(op->apply);
  share.release = [](void* context) noexcept { delete static_cast<Shared<Op>*>(context); };
  if constexpr (requires { op->inputs; }) {
    share.inputs = op->inputs == nullptr ? nullptr : shared_call<&Op::inputs, Op>(op->inputs);
  }
  return share;
}

// A model that takes an operation owns it; one that refuses does not.
template <typename Op, typename Set>
void hand_over(const Op& share, Set set) {
  try {
    set(share);
  } catch (...) {
    share.release(share.context);
    throw;
  }
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
  add({[this, block, group, linear, kept = owned(op)] {
         hand_over(share_of(kept), [&](const quench_linear_op& share) {
           model_.set_linear_op(block, group, linear, &share);
         });
       },
       [=, this] { model_.set_linear_op(block, group, linear, nullptr); }});
}

void FloatWeights::set_cache_op(uint32_t block, const quench_cache_op& op) {
  add({[this, block, kept = owned(op)] {
         hand_over(share_of(kept),
                   [&](const quench_cache_op& share) { model_.set_cache_op(block, &share); });
       },
       [=, this] { model_.set_cache_op(block, nullptr); }});
}

void FloatWeights::add(Op op) {
  op.give();
  ops_.push_back(std::move(op));
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
    op.take_out();
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
      op.take_out();
    } else {
      op.give();
    }
  }
  ops_are_set_ = !ops_are_set_;
}

}  // namespace quench
