// An optimizer as a C++ class. Derive Optimizer (and ClosureGradient), end with QUENCH_MODULE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/module.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void begin(std::span<const quench_parameter_info> tensors, quench_device device) = 0;
  virtual void step(const quench_step_args& args) = 0;
  // Override this if evaluated weights differ from stepped weights.
  virtual void evaluation_weights(uint64_t, const quench_tensor&, const quench_tensor&) {
    throw Error(QUENCH_UNSUPPORTED, "evaluated and stepped weights are the same");
  }
  // State tensor `index`: its name and a writable view, C-contiguous; false after the last.
  virtual bool state(uint64_t index, const char*& name, quench_tensor& view) = 0;
  // Copies all of state tensor `index`, whose view is not in host memory, to `host`, or with `set`
  // from there. Override this where state() gives such views.
  virtual void copy_device_state(uint64_t, void* /*host*/, bool /*set*/) {
    throw Error(QUENCH_INTERNAL, "state on a device, and no copy_device_state");
  }
};

// The loss of a step's batch as a function of all weights, flat: tensor i of `begin` has the
// elements from its `offset` on. Spans are of the memory that `begin` named: of another device's,
// they hold addresses there.
class Closure {
 public:
  Closure(const quench_closure& closure, uint64_t size, quench_device device)
      : closure_(closure), size_(static_cast<int64_t>(size)), device_(device) {}
  // The mean nll in nats at `weights`; writes its gradient over `gradient`. Throws what the model
  // reports, and CANCELLED.
  double operator()(std::span<const float> weights, std::span<float> gradient) const {
    const quench_tensor at = view_of(const_cast<float*>(weights.data()), weights.size());
    const quench_tensor to = view_of(gradient.data(), gradient.size());
    double loss = 0;
    quench_error error{sizeof error, 0, {}};
    check(closure_.evaluate(closure_.context, &at, &to, &loss, &error), error);
    return loss;
  }

 private:
  quench_tensor view_of(float* values, size_t count) const {
    expects(count == static_cast<size_t>(size_), "closure: wanted vectors over all parameters");
    return {values, device_, 1, kFloat32, &size_, nullptr, 0};
  }

  const quench_closure& closure_;
  int64_t size_;
  quench_device device_;
};

// A second base class for optimizers that take the gradient of a step elsewhere than at the
// weights, or more than once.
class ClosureGradient {
 public:
  virtual ~ClosureGradient() = default;
  // Writes the gradient from which step `step` is made. Spans are as those of the closure.
  virtual void gradient(uint64_t step, std::span<const float> weights, const Closure& closure,
                        std::span<float> gradient) = 0;
};

namespace detail {

inline Optimizer& self(quench_optimizer* optimizer) {
  return *reinterpret_cast<Optimizer*>(optimizer);
}
template <typename Plugin>
quench_status create_optimizer(const char* json, uint64_t bytes, quench_optimizer** out,
                               quench_error* error) noexcept {
  return guard(error, [&] {
    Optimizer* made = new Plugin(fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_optimizer*>(made);
  });
}
inline void destroy_optimizer(quench_optimizer* optimizer) noexcept {
  delete &self(optimizer);
}
inline quench_status begin_tensors(quench_optimizer* optimizer,
                                   const quench_parameter_info* tensors, uint64_t count,
                                   quench_device device, quench_error* error) noexcept {
  return guard(error, [&] { self(optimizer).begin({tensors, count}, device); });
}
inline quench_status step_tensor(quench_optimizer* optimizer, const quench_step_args* args,
                                 quench_error* error) noexcept {
  return guard(error, [&] { self(optimizer).step(*args); });
}
inline quench_status evaluation_weights(quench_optimizer* optimizer, uint64_t tensor,
                                        const quench_tensor* stepped,
                                        const quench_tensor* evaluated,
                                        quench_error* error) noexcept {
  return guard(error, [&] { self(optimizer).evaluation_weights(tensor, *stepped, *evaluated); });
}
inline quench_status optimizer_state_info(quench_optimizer* optimizer, uint64_t index,
                                          quench_state_info* info, quench_error* error) noexcept {
  bool found = false;
  const quench_status status = guard(error, [&] {
    quench_tensor view{};
    found = self(optimizer).state(index, info->name, view);
    if (found) {
      info->dtype = view.dtype;
      info->dimensions = view.dimensions;
      info->shape = view.shape;
    }
  });
  return status != QUENCH_OK ? status : found ? QUENCH_OK : QUENCH_END;
}
// Copies between state tensor `index` and `other`, which must have its shape and dtype.
inline void copy_state(quench_optimizer* optimizer, uint64_t index, const quench_tensor& other,
                       bool set) {
  const char* name = nullptr;
  quench_tensor view{};
  if (!self(optimizer).state(index, name, view)) {
    fail(QUENCH_INVALID_ARGUMENT, "there is no state tensor %llu",
         static_cast<unsigned long long>(index));
  }
  const bool same = other.dtype.code == view.dtype.code && other.dtype.bits == view.dtype.bits &&
                    other.dimensions == view.dimensions &&
                    std::equal(view.shape, view.shape + view.dimensions, other.shape);
  if (!same || !is_contiguous(other)) {
    fail(QUENCH_INVALID_ARGUMENT, "state tensor %s: another shape or element type", name);
  }
  auto* own = static_cast<std::byte*>(view.data) + view.byte_offset;
  auto* theirs = static_cast<std::byte*>(other.data) + other.byte_offset;
  if (view.device.type != QUENCH_DEVICE_CPU) {
    return self(optimizer).copy_device_state(index, theirs, set);
  }
  const auto bytes = static_cast<size_t>(elements_of(view) * bytes_of(view.dtype));
  if (bytes > 0) {
    std::memcpy(set ? own : theirs, set ? theirs : own, bytes);
  }
}
inline quench_status optimizer_state_get(quench_optimizer* optimizer, uint64_t index,
                                         const quench_tensor* destination,
                                         quench_error* error) noexcept {
  return guard(error, [&] { copy_state(optimizer, index, *destination, false); });
}
inline quench_status optimizer_state_set(quench_optimizer* optimizer, uint64_t index,
                                         const quench_tensor* value, quench_error* error) noexcept {
  return guard(error, [&] { copy_state(optimizer, index, *value, true); });
}
inline quench_status closure_gradient(quench_optimizer* optimizer, const quench_closure_args* args,
                                      quench_error* error) noexcept {
  return guard(error, [&] {
    const quench_device device = args->weights->device;
    const auto weights = elements_on<float>(device, *args->weights, "weights");
    const auto gradient = elements_on<float>(device, *args->gradient, "gradient");
    dynamic_cast<ClosureGradient&>(self(optimizer))
        .gradient(args->step, weights, Closure(*args->closure, weights.size(), device), gradient);
  });
}
}  // namespace detail

// Makes the item of an optimizer class that has a nested `Params` and a constructor from it.
template <typename Plugin>
quench_item optimizer(const About& about) {
  static const quench_optimizer_table kTable = [] {
    quench_optimizer_table table{};
    table.struct_size = sizeof table;
    table.create = detail::create_optimizer<Plugin>;
    table.destroy = detail::destroy_optimizer;
    table.begin = detail::begin_tensors;
    table.step = detail::step_tensor;
    table.state_info = detail::optimizer_state_info;
    table.state_get = detail::optimizer_state_get;
    table.state_set = detail::optimizer_state_set;
    if (!std::is_same_v<decltype(&Plugin::evaluation_weights),
                        decltype(&Optimizer::evaluation_weights)>) {
      table.evaluation_weights = detail::evaluation_weights;
    }
    if (std::is_base_of_v<ClosureGradient, Plugin>) {
      table.gradient = detail::closure_gradient;
    }
    return table;
  }();
  return make_item<typename Plugin::Params>(QUENCH_KIND_OPTIMIZER, about, &kTable);
}

}  // namespace quench::kit
