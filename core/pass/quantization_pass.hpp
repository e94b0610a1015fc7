// One pass over the calibration rows for one or several settings of a quantizer.
#pragma once

#include <span>
#include <vector>

#include "core/pass/calibration_streams.hpp"
#include "core/pass/fused_scoring.hpp"
#include "core/pass/linear_quantization.hpp"
#include "core/pass/outer_parameters.hpp"
#include "core/pass/pass_clock.hpp"
#include "core/pass/pass_settings.hpp"

namespace quench {

class QuantizationPass {
 public:
  // The quantizers can share a pass, or there is one. All outlive it.
  QuantizationPass(ModelHandle& model, std::span<QuantizerHandle* const> quantizers,
                   const QuantizeOptions& options, FloatWeights& kept);

  // Quantizes everything. With kFloat the model is float afterwards, and the weights are with the
  // settings; else it carries the quantized weights. A failure of the only setting is thrown.
  void run();
  std::vector<PassSetting>& settings() { return settings_.all(); }

 private:
  void predict_memory();
  void run_block(uint32_t block);
  // The rows of a stage's groups, then those groups' linears. The next stage runs on the quantized
  // weights, unless rows come from the float model.
  void run_stage(uint32_t block, uint32_t stage);
  // All rows of a block, then all its linears, then the block again on its quantized weights.
  void run_float_block(uint32_t block);
  std::vector<ObservedGroup> begin_groups(uint32_t block, uint32_t stage);
  // `stage`: that feeds the groups.
  void quantize_groups(uint32_t block, uint32_t stage, std::vector<ObservedGroup>& groups);
  void quantize_linears(uint32_t block, std::vector<ObservedGroup>& groups);
  void report(uint32_t block, uint32_t stage, uint32_t stages) const;
  // Fills in the results of all settings.
  void finish();

  ModelHandle& model_;
  const QuantizeOptions& options_;
  PassClock clock_;
  PassCounts counts_;  // what the settings have in common
  PassSettings settings_;
  CalibrationStreams streams_;
  LinearQuantization linears_;
  OuterParameters outer_;
  FusedScoring scoring_;
};

}  // namespace quench
