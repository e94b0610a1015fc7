// GPTQ (Frantar, Ashkboos, Hoefler, Alistarh 2023): rounding with error compensation.
#pragma once

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

class Gptq final : public kit::Quantizer {
 public:
  struct Params : ActivationParameters, RotationParameters, CacheParameters {
    std::string preset = "none";
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = true;
    double mse = 0;
    std::optional<std::string> format;
    bool desc_act = false;
    bool act_group_aware = false;
    bool static_groups = false;
    double damp = 0.01;
    double damp_increment = 0.01;
    std::string damp_retry = "fresh";
    std::string fallback = "fail";
    std::string inputs = "sequential";
    bool gptaq = false;
    double gptaq_alpha = 0.25;
    int64_t block = 128;
    std::string scale_from = "current";
    std::string precision = "float32";
    std::vector<std::string> modules;
    bool lm_head = false;
    bool embedding = false;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Gptq(const Params& params);
  uint32_t needs() const override;
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  // The statistics depend on neither the grid, the order nor the damping.
  bool accepts_groups_of(const kit::Quantizer& other) const override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  static void add_functions(quench_quantizer_table& table);
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }

 private:
  Params params_;
  ModuleRules rules_;
  ActivationSettings activations_;
  CacheSettings cache_;
  const number_formats::NumberFormat* format_;  // null: the integer grid
};

}  // namespace quench::quantizers
