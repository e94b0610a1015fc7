// AdamW's steps, as adamw takes them and the optimizers that differ from it only in where they take
// the gradient: in host memory, or on a GPU by kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimizers/shared/state.hpp"
#include "optimizers/shared/weight_decay.hpp"
#include "quench/kit/optimizer.hpp"
#include "quench/kit/parameters.hpp"

namespace quench::optimizers {

// Parameters of a plugin derive from these.
struct AdamWSettings : DecaySettings {
  std::vector<double> betas = {0.9, 0.95};
  double epsilon = 1e-8;
};

template <typename Params>
void describe_adamw(kit::Fields<Params>& fields) {
  const auto add = [&]<typename T>(const char* name, T AdamWSettings::*member,
                                   const char* meaning) -> auto& {
    return fields.add(name, static_cast<T Params::*>(member), meaning);
  };
  add("betas", &AdamWSettings::betas, "decay of the first and second moment, per step").range(0, 1);
  add("epsilon", &AdamWSettings::epsilon, "added to the root of the second moment").at_least(0);
  describe_decay(fields);
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

  AdamWSettings settings_;
  State state_;
  std::vector<Moments> moments_;
};

}  // namespace quench::optimizers
