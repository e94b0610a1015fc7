// Half-quadratic quantization (Badri and Shaji 2023): a grid per group whose zero is found without
// data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quantizers/grid/module_rules.hpp"
#include "quantizers/hqq/half_quadratic.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

class Hqq final : public kit::Quantizer {
 public:
  struct Params {
    int64_t bits = 4;
    int64_t group_size = 64;
    double exponent = 0.7;
    double beta = 10;
    double kappa = 1.01;
    int64_t iterations = 20;
    std::vector<std::string> modules;
    bool lm_head = false;
    bool embedding = false;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Hqq(const Params& params);
  uint32_t needs() const override;
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
