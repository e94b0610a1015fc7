// A quantizer as a C++ class. Derive Quantizer, derive QuantizerGroup, end with QUENCH_MODULE.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quench/abi/kind/quantizer.h"
#include "quench/kit/answer.hpp"
#include "quench/kit/module.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

// Receives the result of one linear. Every call copies its argument or takes ownership of it.
class QuantizeSink {
 public:
  explicit QuantizeSink(const quench_quantize_sink* sink) : sink_(sink) {}

  // A writable tensor that the host owns, valid until quantize() returns.
  template <typename T>
  std::span<T> tensor(const char* name, std::vector<int64_t> shape) {
    quench_tensor view{};
    quench_error error{sizeof error, 0, {}};
    check(sink_->tensor(sink_->context, name, dtype_of<T>(), static_cast<int32_t>(shape.size()),
                        shape.data(), &view, &error),
          error);
    return elements<T>(view, name);
  }
  void number(const char* name, double value) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->number(sink_->context, name, value, &error), error);
  }
  void text(const char* name, const std::string& value) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->text(sink_->context, name, value.c_str(), &error), error);
  }
  void linear_op(const quench_linear_op& op) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->linear_op(sink_->context, &op, &error), error);
  }
  // For quantizers with QUENCH_MAKES_CACHE_OP, which hosts before 1.1 refuse.
  void cache_op(const quench_cache_op& op) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->cache_op(sink_->context, &op, &error), error);
  }

 private:
  const quench_quantize_sink* sink_;
};

// One linear to quantize.
struct LinearToQuantize {
  const quench_linear_info& info;
  const quench_tensor& weight;       // [out, in], float32 or float64, read-only
  const quench_tensor& dequantized;  // [out, in], same dtype and device, to be written
  void* stream;
  // Whether anybody reads codes, scales and the like from the sink.
  bool wants_codes = true;
  uint32_t block = 0;  // index; of embedding and head the number of blocks
  bool first = false;  // of its block: what has an op on keys and values
};

// The state of one input group.
class QuantizerGroup {
 public:
  virtual ~QuantizerGroup() = default;
  // Observes rows of the group's input; only called if needs() asks for rows.
  virtual void observe(const quench_observe_args&) {}
  // Not called if the quantizer overrides its own `quantize`.
  virtual void quantize(const LinearToQuantize&, QuantizeSink&) {
    throw Error(QUENCH_INTERNAL, "this group cannot quantize");
  }
};

// Rules for single modules in the list parameter `modules`.
class ModulePatterns {
 public:
  virtual ~ModulePatterns() = default;
  // Whether the pattern of entry `rule` matches the module, regardless of earlier rules.
  virtual bool fits(size_t rule, std::string_view module) const = 0;
};

// Shapes of one input group whose state takes memory.
struct GroupShapes {
  const quench_group_info& info;
  int64_t in_features;
  quench_dtype row_dtype;
  quench_dtype weight_dtype;
  bool on_device;  // in the memory of a GPU
  // [out, in] of the largest weight.
  uint64_t largest_weight() const {
    int64_t out = 0;
    for (uint32_t l = 0; l < info.linear_count; ++l) {
      out = info.linears[l].out_features > out ? info.linears[l].out_features : out;
    }
    return static_cast<uint64_t>(out) * static_cast<uint64_t>(in_features);
  }
};

// Bytes that the state takes, as quench_group_memory has them.
struct GroupMemory {
  uint64_t observing = 0;
  uint64_t shared = 0;
  uint64_t each = 0;
  uint64_t linear = 0;
};

class Quantizer {
 public:
  virtual ~Quantizer() = default;
  // QUENCH_NEEDS_*, USES_*, MAKES_* and QUANTIZES_* bits.
  virtual uint32_t needs() const { return 0; }
  // `group` stays valid until the returned state is destroyed.
  virtual std::unique_ptr<QuantizerGroup> begin(const quench_group_args& group) = 0;
  // Quantizes one linear with what `group` has observed. A class that accepts other instances'
  // groups overrides this and reads its own parameters, not the group's.
  virtual void quantize(QuantizerGroup& group, const LinearToQuantize& linear, QuantizeSink& sink) {
    group.quantize(linear, sink);
  }
  // Whether groups begun by `other`, an instance of the same class, also serve this instance.
  virtual bool accepts_groups_of(const Quantizer&) const { return false; }
  // The rules of the parameter `modules`; a class that has it overrides this.
  virtual const ModulePatterns* module_patterns() const { return nullptr; }
  // What a state of such a group takes; the host asks a class that overrides it.
  virtual GroupMemory memory(const GroupShapes&) const { return {}; }
};

namespace detail {

struct QuantizerState {
  std::unique_ptr<QuantizerGroup> group;
  const quench_group_info* info;
  uint32_t block;
  uint32_t index;  // of the group in its block
};

inline Quantizer& self(quench_quantizer* quantizer) {
  return *reinterpret_cast<Quantizer*>(quantizer);
}
inline QuantizerState& self(quench_quantizer_state* state) {
  return *reinterpret_cast<QuantizerState*>(state);
}

template <typename Plugin>
quench_status create_quantizer(const char* json, uint64_t bytes, quench_quantizer** out,
                               quench_error* error) noexcept {
  return guard(error, [&] {
    Quantizer* made = new Plugin(fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_quantizer*>(made);
  });
}

inline void destroy_quantizer(quench_quantizer* quantizer) noexcept {
  delete &self(quantizer);
}
inline uint32_t quantizer_needs(const quench_quantizer* quantizer) noexcept {
  return reinterpret_cast<const Quantizer*>(quantizer)->needs();
}
inline quench_status begin_group(quench_quantizer* quantizer, const quench_group_args* args,
                                 quench_quantizer_state** state, quench_error* error) noexcept {
  return guard(error, [&] {
    auto made = std::make_unique<QuantizerState>();
    made->group = self(quantizer).begin(*args);
    made->info = args->info;
    made->block = args->block;
    made->index = args->group;
    *state = reinterpret_cast<quench_quantizer_state*>(made.release());
  });
}
inline quench_status observe_group(quench_quantizer*, quench_quantizer_state* state,
                                   const quench_observe_args* args, quench_error* error) noexcept {
  return guard(error, [&] { self(state).group->observe(*args); });
}
inline quench_status quantize_linear(quench_quantizer* quantizer, quench_quantizer_state* state,
                                     const quench_quantize_args* args,
                                     quench_error* error) noexcept {
  return guard(error, [&] {
    const QuantizerState& own = self(state);
    expects(args->linear < own.info->linear_count, "linear: no such index in this group");
    QuantizeSink sink(args->sink);
    self(quantizer).quantize(*own.group,
                             {own.info->linears[args->linear], *args->weight, *args->dequantized,
                              args->stream, (args->flags & QUENCH_QUANTIZE_WITHOUT_CODES) == 0,
                              own.block, own.index == 0 && args->linear == 0},
                             sink);
  });
}
inline void end_group(quench_quantizer*, quench_quantizer_state* state) noexcept {
  delete &self(state);
}
inline int32_t accepts_states_of(const quench_quantizer* quantizer,
                                 const quench_quantizer* other) noexcept {
  return reinterpret_cast<const Quantizer*>(quantizer)->accepts_groups_of(
             *reinterpret_cast<const Quantizer*>(other))
             ? 1
             : 0;
}
inline int32_t rule_fits(const quench_quantizer* quantizer, uint64_t rule,
                         const char* module) noexcept {
  const ModulePatterns* patterns = reinterpret_cast<const Quantizer*>(quantizer)->module_patterns();
  return patterns->fits(static_cast<size_t>(rule), module) ? 1 : 0;
}
inline quench_status predict_group_memory(const quench_quantizer* quantizer,
                                          const quench_group_memory_args* args,
                                          quench_group_memory* memory,
                                          quench_error* error) noexcept {
  return guard(error, [&] {
    const GroupMemory said = reinterpret_cast<const Quantizer*>(quantizer)->memory(
        {*args->info, args->in_features, args->row_dtype, args->weight_dtype,
         (args->flags & QUENCH_GROUP_ON_DEVICE) != 0});
    answer(memory, {sizeof *memory, 0, said.observing, said.shared, said.each, said.linear});
  });
}

}  // namespace detail

// Makes the item of a quantizer class that has a nested `Params` and a constructor from it. A
// static `void add_functions(quench_quantizer_table&)` of the class adds those of the optional
// functions that have no method here.
template <typename Plugin>
quench_item quantizer(const About& about) {
  static const quench_quantizer_table kTable = [] {
    quench_quantizer_table table{};
    table.struct_size = sizeof table;
    table.create = detail::create_quantizer<Plugin>;
    table.destroy = detail::destroy_quantizer;
    table.needs = detail::quantizer_needs;
    table.begin = detail::begin_group;
    table.observe = detail::observe_group;
    table.quantize = detail::quantize_linear;
    table.end = detail::end_group;
    table.accepts = detail::accepts_states_of;
    if (!std::is_same_v<decltype(&Plugin::module_patterns),
                        decltype(&Quantizer::module_patterns)>) {
      table.rule_fits = detail::rule_fits;
    }
    if (!std::is_same_v<decltype(&Plugin::memory), decltype(&Quantizer::memory)>) {
      table.predict_memory = detail::predict_group_memory;
    }
    detail::add_functions<Plugin>(table);
    return table;
  }();
  return make_item<typename Plugin::Params>(QUENCH_KIND_QUANTIZER, about, &kTable);
}

}  // namespace quench::kit
