// One pass over the calibration sequences for one or several settings of a quantizer.
#pragma once

#include <span>
#include <vector>

#include "core/pass/calibration_streams.hpp"
#include "core/pass/fused_scoring.hpp"
#include "core/pass/linear_quantization.hpp"
#include "core/pass/pass_clock.hpp"
#include "core/pass/pass_settings.hpp"

namespace quench {

class QuantizationPass {
 public:
  // The quantizers can share a pass, or there is only one. All must outlive it.
  QuantizationPass(ModelHandle& model, std::span<QuantizerHandle* const> quantizers,
                   const QuantizeOptions& options, FloatWeights& kept);

  // Quantizes everything. With kFloat the model is float afterwards and the settings have the
  // weights; otherwise the model has the quantized weights. Throws the failure of the only setting.
  void run();
  std::vector<PassSetting>& settings() { return settings_.all(); }

 private:
  void predict_memory();
  void run_block(uint32_t block);
  // Observes the activations of a stage's groups, then quantizes their linears. The next stage runs
  // on the quantized weights, unless activations come from the float model.
  void run_stage(uint32_t block, uint32_t stage);
  // Observes a whole block, quantizes all its linears, then runs it again on quantized weights.
  void run_float_block(uint32_t block);
  std::vector<ObservedGroup> begin_groups(uint32_t block, uint32_t stage);
  // `stage`: the one that feeds the groups.
  void quantize_groups(uint32_t block, uint32_t stage, std::vector<ObservedGroup>& groups);
  void quantize_linears(uint32_t block, std::vector<ObservedGroup>& groups);
  // Token embedding and output head, outside all blocks, are groups of one linear. UNSUPPORTED if
  // the model names no embedding, or if the head, which sees what comes after all blocks, is tied.
  void quantize_embedding();
  void quantize_head();
  // `judge` may be null; `observe` shows the group its activations.
  template <typename Observe>
  void quantize_outer(const quench_parameter_info& parameter, const char* role,
                      QuantizerHandle* judge, Observe observe);
  void report(uint32_t block, uint32_t stage, uint32_t stages) const;
  // Fills in the results of all settings.
  void finish();

  ModelHandle& model_;
  const QuantizeOptions& options_;
  PassClock clock_;
  PassCounts counts_;  // shared by all settings
  PassSettings settings_;
  CalibrationStreams streams_;
  LinearQuantization linears_;
  FusedScoring scoring_;
};

}  // namespace quench
