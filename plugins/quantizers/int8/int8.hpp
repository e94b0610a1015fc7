// LLM.int8 (Dettmers, Lewis, Belkada, Zettlemoyer 2022): weights and activations in 8 bits,
// outliers in float.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quantizers/grid/module_rules.hpp"
#include "quantizers/int8/coded_linear.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

class Int8 final : public kit::Quantizer {
 public:
  struct Params {
    double threshold = 6;
    bool activations = true;
    std::string scope = "batch";
    bool half = true;
    std::vector<std::string> modules;
    static void describe(kit::Fields<Params>& fields);
  };

  explicit Int8(const Params& params);
  uint32_t needs() const override;
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  static void add_functions(quench_quantizer_table& table);
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }

 private:
  Int8Options options() const;

  Params params_;
  ModuleRules rules_;
};

}  // namespace quench::quantizers
