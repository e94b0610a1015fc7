// Round to nearest: every weight becomes the nearest value of its group's grid.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quantizers/cache/settings.hpp"
#include "quantizers/grid/module_rules.hpp"
#include "quantizers/inputs/settings.hpp"
#include "quantizers/rotated/settings.hpp"
#include "quench/kit/quantizer.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

class Rtn final : public kit::Quantizer {
 public:
  struct Params : ActivationParameters, RotationParameters, CacheParameters {
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = true;
    double mse = 0;
    std::optional<std::string> format;
    std::vector<std::string> modules;
    bool lm_head = false;
    bool embedding = false;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Rtn(const Params& params);
  // Rows change no code; with them the host can ask for the output error.
  uint32_t needs() const override;
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  static void add_functions(quench_quantizer_table& table);
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }

 private:
  static void round_to_grid(const at::Tensor& weight, const ModuleSetting& setting,
                            const kit::LinearToQuantize& linear, kit::QuantizeSink& sink);

  Params params_;
  ModuleRules rules_;
  ActivationSettings activations_;
  CacheSettings cache_;
  const number_formats::NumberFormat* format_;  // null: the integer grid
};

}  // namespace quench::quantizers
