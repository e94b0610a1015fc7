// An instance of an optimizer plugin. Every call throws quench::Error whose message starts with
// "optimizer <id>: ".
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "quench/abi/kind/optimizer.h"

namespace quench {

class OptimizerHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  OptimizerHandle(Catalog& catalog, const PluginDescription& description,
                  const nlohmann::json& parameters);

  const std::string& label() const { return optimizer_.label(); }
  void begin(std::span<const quench_parameter_info> tensors, quench_device device);
  // Whether the optimizer evaluates the batch itself (`gradient`).
  bool takes_closure() const { return optimizer_.has<&quench_optimizer_table::gradient>(); }
  // Writes the mean nll's gradient at `weights` over `gradient` and returns the mean nll; both are
  // float32 [all parameters], in C order, on the device that `begin` was given.
  using Evaluate =
      std::function<double(const quench_tensor& weights, const quench_tensor& gradient)>;
  // Writes the gradient from which step `step` is made to `gradient`; vectors are as those of
  // `evaluate`. Rethrows what that throws.
  void gradient(uint64_t step, const quench_tensor& weights, const Evaluate& evaluate,
                const quench_tensor& gradient);
  // Updates these tensors, one after the other.
  void step(std::span<const quench_step_args> tensors);
  // Whether the weights to evaluate and save differ from the stepped ones.
  bool evaluates_other() const {
    return optimizer_.has<&quench_optimizer_table::evaluation_weights>();
  }
  void evaluation_weights(uint64_t tensor, const quench_tensor& stepped,
                          const quench_tensor& evaluated);
  // The tensors of the whole state, from `begin` on.
  std::vector<TensorInfo> state();
  // Copies state tensor `index` to or from memory of its size.
  void get_state(uint64_t index, const TensorInfo& info, void* destination);
  void set_state(uint64_t index, const TensorInfo& info, const void* value);

 private:
  PluginObject<&quench_optimizer_table::destroy> optimizer_;
};

}  // namespace quench
