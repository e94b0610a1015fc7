// One pass over the calibration rows for one or several settings of a quantizer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/pass/activation_stream.hpp"
#include "core/pass/observed_group.hpp"
#include "core/pass/quantize_model.hpp"
#include "core/pass/quantize_sink.hpp"

namespace quench {

// The state of the model from which a group's rows come.
enum class RowsFrom {
  kQuantized,   // all that comes before is quantized: one forward per block
  kFloatBlock,  // earlier blocks are: two forwards per block, the second with its quantized weights
  kFloat        // nothing is: one forward, for any number of settings
};

// One setting on its way through the pass.
struct PassSetting {
  QuantizerHandle* quantizer;
  QuantizedSetting out;  // its weights only where rows come from the float model
  std::vector<ScoreRide> rides;
};

class QuantizationPass {
 public:
  // The quantizers can share a pass, or there is one.
  QuantizationPass(ModelHandle& model, std::span<QuantizerHandle* const> quantizers,
                   const QuantizeOptions& options, FloatWeights& kept);

  // Quantizes everything. With kFloat the model is float afterwards, and the weights are with the
  // settings; else it carries the quantized weights. A failure of the only setting is thrown.
  void run();
  RowsFrom rows_from() const { return rows_from_; }
  std::vector<PassSetting>& settings() { return settings_; }

 private:
  using Clock = std::chrono::steady_clock;
  // Adds the time of `body` to `part`.
  template <typename Body>
  void timed(const char* part, Body body);

  void open_streams();
  void run_block(uint32_t block);
  void run_stage(uint32_t block, uint32_t stage);
  void run_float_block(uint32_t block);
  std::vector<ObservedGroup> begin_groups(uint32_t block, uint32_t stage);
  // All calibration batches through the stage, their rows straight into the groups that it feeds.
  void advance(uint32_t block, uint32_t stage, std::vector<ObservedGroup>& groups);
  void advance_float(uint32_t block, uint32_t stage);
  // `stage`: that feeds the groups.
  void quantize_groups(uint32_t block, uint32_t stage, std::vector<ObservedGroup>& groups);
  // The weight of a linear as quantizers get it; NUMERICAL by name where it is not finite.
  HostTensor float_weight(const quench_linear_info& linear) const;
  // The same times the group's input scale, where it has one.
  static HostTensor scaled(HostTensor weight, const ObservedGroup& group);
  void prepare_group(ObservedGroup& group);
  void quantize_linear(uint32_t block, ObservedGroup& group, uint32_t linear);
  // Runs `body` for each setting that has not failed; the failure of the only one is thrown.
  template <typename Body>
  void for_each_setting(Body body);
  LayerResult quantize_for(PassSetting& setting, uint32_t block, ObservedGroup& group,
                           uint32_t linear, const HostTensor& weight);
  void take_weight(PassSetting& setting, const std::string& name, const HostTensor& dequantized);

  void quantize_embedding();
  void quantize_head();
  void quantize_parameter(const quench_parameter_info& parameter, const char* role,
                          const std::string& note, bool with_rows);
  uint32_t needs() const { return settings_[0].quantizer->needs(); }

  void ride_embed();
  void ride_block(uint32_t block);
  void ride_finish();
  // Runs `body` for each setting that has not failed, with its weights from `first` of them on in
  // the model where the pass leaves the model float.
  template <typename Body>
  void with_weights(const std::vector<size_t>& first, Body body);
  std::vector<size_t> made_so_far() const;

  void report(uint32_t block, uint32_t stage, uint32_t stages) const;
  void finish();

  ModelHandle& model_;
  const QuantizeOptions& options_;
  FloatWeights& kept_;
  RowsFrom rows_from_;
  std::vector<PassSetting> settings_;
  std::optional<ActivationStream> stream_;
  std::optional<ActivationStream> float_stream_;  // one stage ahead of what is quantized
  QuantizationResult counts_;                     // what the settings have in common
};

}  // namespace quench
