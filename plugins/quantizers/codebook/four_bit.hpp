// The common part of nf4 and fp4, which differ only in their sixteen values.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quantizers/codebook/blocks.hpp"
#include "quantizers/grid/module_rules.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// Writes a codebook to the sink: "indices" uint8 [out, in], "table" float32 [16] and "scales"
// float32 [blocks of the flattened weight], the largest magnitude of each block ("absmax"). Double
// quantization also writes what the scales are decoded from: "absmax_codes" uint8 [blocks],
// "absmax_levels" float32 [256], "absmax_maxima" float32 [blocks / 256], "absmax_mean" float32 [1].
class FourBit : public kit::Quantizer {
 public:
  struct Params {
    int64_t block = 64;
    bool double_quantization = false;
    std::vector<std::string> modules;
    bool lm_head = false;
    bool embedding = false;
    static void describe(kit::Fields<Params>& fields);
  };

  FourBit(const Params& params, const Levels& levels);
  uint32_t needs() const override;
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args& group) override;
  kit::GroupMemory memory(const kit::GroupShapes& shapes) const override;
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override;
  const kit::ModulePatterns* module_patterns() const override { return &rules_; }

 private:
  template <typename T>
  void quantize_as(const at::Tensor& weight, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink) const;
  // The factors as they are stored, in `bits` each if those are not 32; written to `sink` in that
  // form if it is not null.
  std::vector<float> kept_factors(std::vector<float> factors, const char* name,
                                  kit::QuantizeSink* sink, double& bits) const;

  Params params_;
  Levels levels_;
  ModuleRules rules_;
};

}  // namespace quench::quantizers
