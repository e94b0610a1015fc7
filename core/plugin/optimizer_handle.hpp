// An instance of an optimizer plugin. Every call throws quench::Error whose message starts with
// "optimizer <id>: ".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/catalog.hpp"
#include "quench/abi/kind/optimizer.h"

namespace quench {

class OptimizerHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  OptimizerHandle(Catalog& catalog, const PluginDescription& description,
                  const nlohmann::json& parameters);
  ~OptimizerHandle();
  OptimizerHandle(const OptimizerHandle&) = delete;
  OptimizerHandle& operator=(const OptimizerHandle&) = delete;

  const std::string& label() const { return label_; }
  void begin(std::span<const quench_parameter_info> tensors, quench_device device);
  void step(const quench_step_args& args);
  // Whether the weights to evaluate and save differ from the stepped ones.
  bool evaluates_other() const { return table_->evaluation_weights != nullptr; }
  void evaluation_weights(uint64_t tensor, const quench_tensor& stepped,
                          const quench_tensor& evaluated);
  // Names and writable views of the whole state, valid as long as the optimizer.
  std::vector<std::pair<std::string, quench_tensor>> state();

 private:
  std::string label_;
  const quench_optimizer_table* table_ = nullptr;
  quench_optimizer* optimizer_ = nullptr;
};

}  // namespace quench
