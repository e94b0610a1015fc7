// Noise with the norm of another method's rounding error: the control that separates a sharper loss
// surface from weights that have become harder to quantize.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quantizers/grid/module_rules.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

class Noise final : public kit::Quantizer {
 public:
  struct Params {
    std::string distribution = "gaussian";
    int64_t bits = 4;
    int64_t group_size = 128;
    bool sym = true;
    double mse = 0;
    double scale = 1;
    int64_t draw = 0;
    std::vector<std::string> modules;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Noise(const Params& params);
  uint32_t needs() const override { return QUENCH_TAKES_DEVICE_WEIGHTS; }
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }

 private:
  Params params_;
  ModuleRules rules_;
};

}  // namespace quench::quantizers
