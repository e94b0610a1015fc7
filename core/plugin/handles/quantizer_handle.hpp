// An instance of a quantizer plugin. Every call throws quench::Error whose message starts with
// "quantizer <id>: ".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/plugin/handles/instance.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "quench/abi/kind/quantizer.h"
#include "quench/abi/kind/transform.h"

namespace quench {

class QuantizerHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  QuantizerHandle(Catalog& catalog, const PluginDescription& description,
                  const nlohmann::json& parameters);

  const std::string& id() const { return id_; }
  // False once the process in which it was made has ended; every call then fails.
  bool is_alive() const { return static_cast<bool>(alive_); }
  const quench_quantizer_table& table() const { return quantizer_.table(); }
  uint32_t needs() const { return needs_; }  // QUENCH_NEEDS_* | ...; asked once, at creation

  // One input group in the making; ends itself. Must not outlive its quantizer.
  class Group {
   public:
    ~Group();
    Group(Group&& other) noexcept;
    Group& operator=(Group&&) = delete;
    Group(const Group&) = delete;

    void observe(const quench_observe_args& args);
    void quantize(const quench_quantize_args& args);
    // Hands over all weights of the group before `quantizer` quantizes its linears on this state;
    // only where that one wants them.
    void prepare_for(QuantizerHandle& quantizer, std::span<const quench_tensor> weights);
    // Quantizes with another instance's settings; `other` must accept states of this one's.
    void quantize_as(QuantizerHandle& other, const quench_quantize_args& args);

    // Without a Gram matrix the calls below throw UNSUPPORTED.
    bool has_gram() const { return table_->gram_get != nullptr; }
    struct Gram {
      quench_tensor matrix{};  // float64 or float32 [in,in], valid as long as the group
      double rows = 0;
    };
    Gram gram_get() const;
    void gram_set(const quench_tensor& matrix, double rows);
    struct OutputError {
      double squared_error = 0;
      double reference = 0;
    };
    OutputError output_error(const quench_tensor& weight, const quench_tensor& dequantized) const;

   private:
    friend class QuantizerHandle;
    Group(const std::string& label, const quench_quantizer_table* table,
          quench_quantizer* quantizer, quench_quantizer_state* state,
          const quench_group_info* info);
    // Function(quantizer, state, args...) about a linear.
    template <auto Function, typename... Args>
    auto call(uint32_t linear, Args&&... args) const {
      return quench::call<Function>(label_, *table_, place(linear), quantizer_, state_,
                                    std::forward<Args>(args)...);
    }
    // The weight of one of its linears; of the first where the call is about all.
    CallPlace place(uint32_t linear = 0) const;

    std::string label_;
    const quench_quantizer_table* table_;
    quench_quantizer* quantizer_;
    quench_quantizer_state* state_;
    const quench_group_info* info_;  // the caller's, as long as the group
  };
  // A quantizer in a process of its own is told that rows are in host memory: it gets copies.
  Group begin(const quench_group_args& args);

  bool is_in_worker() const { return in_worker_; }  // runs in a process of its own
  // Whether `quantize` takes weights in the memory of the model's device.
  bool takes_device_weights() const {
    return !in_worker_ && (needs_ & QUENCH_TAKES_DEVICE_WEIGHTS) != 0;
  }

  // Whether its groups keep the Gram matrix of their rows.
  bool has_gram() const { return quantizer_.has<&quench_quantizer_table::gram_get>(); }
  // Begins a pass over a model; what it gives does not depend on those before.
  void begin_pass();
  // Whether it changes the float model; applies the change of the latest pass.
  bool has_plan() const { return quantizer_.has<&quench_quantizer_table::apply_plan>(); }
  void apply_plan(const quench_model_editor& editor);
  bool wants_group_weights() const { return quantizer_.has<&quench_quantizer_table::prepare>(); }
  // Whether it has rules for single modules, in the parameter QUENCH_QUANTIZER_RULES.
  bool has_rules() const { return quantizer_.has<&quench_quantizer_table::rule_fits>(); }
  // Whether the pattern of a rule fits.
  bool rule_fits(size_t rule, const std::string& module) const;
  // What a state of such a group takes.
  bool says_memory() const { return quantizer_.has<&quench_quantizer_table::predict_memory>(); }
  quench_group_memory memory(const quench_group_memory_args& args) const;  // zeros if not said
  // Whether groups that `other`, of the same plugin, has begun serve this one too.
  bool accepts_groups_of(const QuantizerHandle& other) const;

 private:
  std::string id_;
  PluginObject<&quench_quantizer_table::destroy> quantizer_;
  bool in_worker_;  // runs in a process of its own
  uint32_t needs_;
  Liveness alive_;
};

}  // namespace quench
