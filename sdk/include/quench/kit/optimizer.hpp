// An optimizer as a C++ class. Derive Optimizer, end with QUENCH_MODULE.
#pragma once

#include <span>
#include <string>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/module.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void begin(std::span<const quench_parameter_info> tensors, quench_device device) = 0;
  virtual void step(const quench_step_args& args) = 0;
  // Override this, and set kEvaluatesOther, if evaluated weights differ from stepped weights.
  virtual void evaluation_weights(uint64_t, const quench_tensor&, const quench_tensor&) {
    throw Error(QUENCH_UNSUPPORTED, "evaluated and stepped weights are the same");
  }
  // State tensor `index`: its name and a writable view; false after the last.
  virtual bool state(uint64_t index, const char*& name, quench_tensor& view) = 0;
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
inline quench_status optimizer_state(quench_optimizer* optimizer, uint64_t index, const char** name,
                                     quench_tensor* view, quench_error* error) noexcept {
  bool found = false;
  const quench_status status =
      guard(error, [&] { found = self(optimizer).state(index, *name, *view); });
  return status != QUENCH_OK ? status : found ? QUENCH_OK : QUENCH_END;
}
inline const void* optimizer_extension(const quench_optimizer*, const char*) noexcept {
  return nullptr;
}

// Whether a plugin's evaluated weights differ from its stepped weights.
template <typename Plugin>
constexpr bool evaluates_other() {
  if constexpr (requires { Plugin::kEvaluatesOther; }) {
    return Plugin::kEvaluatesOther;
  } else {
    return false;
  }
}

}  // namespace detail

// Makes the item of an optimizer class that has a nested `Params` and a constructor from it.
template <typename Plugin>
quench_item optimizer(const About& about) {
  static constexpr quench_optimizer_table kTable = {
      sizeof(quench_optimizer_table),
      detail::create_optimizer<Plugin>,
      detail::destroy_optimizer,
      detail::begin_tensors,
      detail::step_tensor,
      detail::evaluates_other<Plugin>() ? detail::evaluation_weights : nullptr,
      detail::optimizer_state,
      detail::optimizer_extension};
  return make_item<typename Plugin::Params>(QUENCH_KIND_OPTIMIZER, about, &kTable);
}

}  // namespace quench::kit
