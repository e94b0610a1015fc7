// An instance of a quantizer plugin. Every call throws quench::Error whose message starts with
// "quantizer <id>: ".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/plugin/liveness.hpp"
#include "core/plugin/plugin_call.hpp"
#include "quench/abi/extension/modules.h"
#include "quench/abi/extension/quantizer_memory.h"
#include "quench/abi/kind/quantizer.h"
#include "quench/abi/kind/transform.h"

namespace quench {

class QuantizerHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  QuantizerHandle(Catalog& catalog, const PluginDescription& description,
                  const nlohmann::json& parameters);
  ~QuantizerHandle();
  QuantizerHandle(QuantizerHandle&& other) noexcept;
  QuantizerHandle& operator=(QuantizerHandle&&) = delete;
  QuantizerHandle(const QuantizerHandle&) = delete;

  const std::string& id() const { return id_; }
  // False once the process in which it was made has ended; every call then fails.
  bool is_alive() const { return static_cast<bool>(alive_); }
  const quench_quantizer_table& table() const { return *table_; }
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

    // Extension quench.quantizer.gram/1; without it the calls below throw UNSUPPORTED.
    bool has_gram() const { return gram_ != nullptr; }
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
    const quench_quantizer_gram& require_gram() const;
    // The weight of one of its linears; of the first where the call is about all.
    CallPlace place(uint32_t linear = 0) const;

    std::string label_;
    const quench_quantizer_table* table_;
    quench_quantizer* quantizer_;
    quench_quantizer_state* state_;
    const quench_group_info* info_;  // the caller's, as long as the group
    const quench_quantizer_gram* gram_ = nullptr;
  };
  // A quantizer in a process of its own is told that rows are in host memory: it gets copies.
  Group begin(const quench_group_args& args);

  bool is_apart() const { return apart_; }  // runs in a process of its own
  // Whether `quantize` takes weights in the memory of the model's device.
  bool takes_device_weights() const {
    return !apart_ && (needs_ & QUENCH_TAKES_DEVICE_WEIGHTS) != 0;
  }

  const void* extension(const char* id) const;
  // Begins a pass over a model; what it gives does not depend on those before.
  void begin_pass();
  // Extension quench.quantizer.plan/1: applies the change of the latest pass.
  bool has_plan() const { return plan() != nullptr; }
  void apply_plan(const quench_model_editor& editor);
  // Extension quench.quantizer.group_weights/1.
  bool wants_group_weights() const;

  // Extension quench.quantizer.modules/1, or nullptr.
  const quench_quantizer_modules* module_rules() const;
  // Whether the pattern of a rule fits; `rules` is this quantizer's.
  bool rule_fits(const quench_quantizer_modules& rules, size_t rule,
                 const std::string& module) const;

  // Extension quench.quantizer.memory/1: what a state of such a group takes.
  bool says_memory() const { return extension(QUENCH_QUANTIZER_MEMORY) != nullptr; }
  quench_group_memory memory(const quench_group_memory_args& args) const;  // zeros without it

  // Extension quench.quantizer.shared_state/1: whether groups that `other`, of the same plugin, has
  // begun serve this one too. False without it.
  bool accepts_groups_of(const QuantizerHandle& other) const;

 private:
  const quench_quantizer_plan* plan() const;

  std::string id_;
  std::string label_;
  const quench_quantizer_table* table_ = nullptr;
  bool apart_ = false;  // runs in a process of its own
  quench_quantizer* quantizer_ = nullptr;
  uint32_t needs_ = 0;
  Liveness alive_;
};

}  // namespace quench
