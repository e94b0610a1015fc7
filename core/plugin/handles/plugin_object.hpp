// An object that a plugin made, with the table through which it is used: closed when this one ends.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "core/plugin/calls/table_call.hpp"

namespace quench {

template <typename Function>
struct ClosingFunction;
template <typename TableType, typename ObjectType>
struct ClosingFunction<void (*TableType::*)(ObjectType*) noexcept> {
  using Table = TableType;
  using Object = ObjectType;
};

// `Close`: the function of its table that closes it, &quench_quantizer_table::destroy.
template <auto Close>
class PluginObject {
 public:
  using Table = typename ClosingFunction<decltype(Close)>::Table;
  using Object = typename ClosingFunction<decltype(Close)>::Object;

  // What Create(args...) makes, never nullptr. `label`: "quantizer gptq", for messages. Throws what
  // it fails with.
  template <auto Create, typename... Args>
  static PluginObject make(std::string label, const Table* table, Args... args) {
    return make_with<Create>(std::move(label), "", table, args...);
  }
  // The same; `parameters` tell the instance from others of the plugin in each of its calls.
  template <auto Create, typename... Args>
  static PluginObject make_with(std::string label, std::string parameters, const Table* table,
                                Args... args) {
    Object* object = nullptr;
    quench::call<Create>(label, *table, {nullptr, -1, parameters.c_str()}, args..., &object);
    if (object == nullptr) {
      fail(QUENCH_INTERNAL, "{}: {} succeeded without an instance", label, kFunctionName<Create>);
    }
    return PluginObject(std::move(label), std::move(parameters), table, object);
  }
  ~PluginObject() {
    if (object_ != nullptr) {
      call<Close>();
    }
  }
  PluginObject(PluginObject&& other) noexcept
      : label_(std::move(other.label_)),
        parameters_(std::move(other.parameters_)),
        table_(other.table_),
        object_(std::exchange(other.object_, nullptr)) {}
  PluginObject& operator=(PluginObject&& other) noexcept {
    std::swap(label_, other.label_);
    std::swap(parameters_, other.parameters_);
    std::swap(table_, other.table_);
    std::swap(object_, other.object_);
    return *this;
  }

  const std::string& label() const { return label_; }
  const Table& table() const { return *table_; }
  Object* get() const { return object_; }

  // Whether the plugin has an optional function.
  template <auto Function>
  bool has() const {
    return table_->*Function != nullptr;
  }
  // Function(object, args...), as quench::call calls it; call_or: `otherwise` where it is not
  // there.
  template <auto Function, typename... Args>
  auto call(Args&&... args) const {
    return call_at<Function>({}, std::forward<Args>(args)...);
  }
  template <auto Function, typename Result, typename... Args>
  Result call_or(Result otherwise, Args&&... args) const {
    return has<Function>() ? call<Function>(std::forward<Args>(args)...) : otherwise;
  }
  template <auto Function, typename... Args>
  auto call_at(CallPlace place, Args&&... args) const {
    place.parameters = parameters_.c_str();
    return quench::call<Function>(label_, *table_, place, object_, std::forward<Args>(args)...);
  }

 private:
  PluginObject(std::string label, std::string parameters, const Table* table, Object* object)
      : label_(std::move(label)),
        parameters_(std::move(parameters)),
        table_(table),
        object_(object) {}

  std::string label_;
  std::string parameters_;  // or ""
  const Table* table_;
  Object* object_;
};

// What a function of the host's, called by a plugin, threw: it waits until the plugin has returned.
class Thrown {
 public:
  // Runs the function's body; what it throws becomes `error`, too.
  template <typename Body>
  quench_status keep(quench_error* error, Body&& body) noexcept {
    return guarded(error, [&] {
      try {
        body();
      } catch (...) {
        thrown_ = std::current_exception();
        throw;
      }
    });
  }
  // Throws it again, else what `status` says.
  void rethrow_or(const std::string& label, const char* function, quench_status status,
                  const quench_error& error) const {
    if (thrown_) {
      std::rethrow_exception(thrown_);
    }
    if (status != QUENCH_OK) {
      throw_status(label, function, status, error);
    }
  }

 private:
  std::exception_ptr thrown_;
};

}  // namespace quench
