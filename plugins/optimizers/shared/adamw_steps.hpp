// AdamW's steps, as adamw takes them and the optimizers that differ from it only in where they take
// the gradient: in host memory, or on a GPU by kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimizers/shared/state.hpp"
#include "quench/kit/optimizer.hpp"
#include "quench/kit/parameters.hpp"

namespace quench::optimizers {

// Parameters of a plugin derive from these.
struct AdamWSettings {
  std::vector<double> betas = {0.9, 0.95};
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  bool decoupled = false;
  std::optional<std::string> decay;
};

template <typename Params>
void describe_adamw(kit::Fields<Params>& fields) {
  const auto add = [&]<typename T>(const char* name, T AdamWSettings::*member,
                                   const char* meaning) -> auto& {
    return fields.add(name, static_cast<T Params::*>(member), meaning);
  };
  add("betas", &AdamWSettings::betas, "decay of the first and second moment, per step").range(0, 1);
  add("epsilon", &AdamWSettings::epsilon, "added to the root of the second moment").at_least(0);
  add("weight_decay", &AdamWSettings::weight_decay, "weight decay λ, see `decoupled`").at_least(0);
  add("decoupled", &AdamWSettings::decoupled,
      "false: a step removes lr * weight_decay of a weight; true: (lr / peak) * weight_decay");
  add("decay", &AdamWSettings::decay,
      "what a step removes of a weight: coupled, as if not set: lr * weight_decay; independent: "
      "(lr / peak) * weight_decay, as `decoupled`; corrected: lr * (lr / peak) * weight_decay of "
      "hidden matrices, and as coupled of all else")
      .choices("coupled|independent|corrected");
}

// State: both moments, float32, where the weights are.
class AdamWSteps : public kit::Optimizer {
 public:
  explicit AdamWSteps(AdamWSettings settings);
  void begin(std::span<const quench_parameter_info> tensors, quench_device device) override;
  void step(const quench_step_args& args) override;
  bool state(uint64_t index, const char*& name, quench_tensor& view) override;
  void copy_device_state(uint64_t index, void* host, bool set) override;

 private:
  struct Moments {
    std::span<float> first;
    std::span<float> second;
    bool hidden = false;  // whether it is a hidden matrix
  };
  // The share of a weight that a step removes.
  double decay(const quench_step_args& args, bool hidden) const;

  AdamWSettings settings_;
  State state_;
  std::vector<Moments> moments_;
};

}  // namespace quench::optimizers
