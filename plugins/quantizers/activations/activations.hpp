// Rounds the inputs of linears, or keys and values, or rotates inputs and rounds nothing; weights
// stay in float.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quantizers/cache/settings.hpp"
#include "quantizers/grid/module_rules.hpp"
#include "quantizers/inputs/settings.hpp"
#include "quantizers/rotated/settings.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

class Activations final : public kit::Quantizer {
 public:
  struct Params : ActivationDetails, RotationParameters, CacheParameters {
    std::string activations = "int8";
    std::vector<std::string> modules;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Activations(const Params& params);
  uint32_t needs() const override;
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  static void add_functions(quench_quantizer_table& table);
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }

 private:
  ModuleRules rules_;
  ActivationSettings activations_;
  RotationParameters rotation_;
  CacheSettings cache_;
};

}  // namespace quench::quantizers
