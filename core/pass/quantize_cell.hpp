// Applies one quantizer of the grid to an open model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/quantize_model.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"

namespace quench {

struct QuantizedModel {
  double bits_per_weight = 0;
  uint64_t quantized_weights = 0;        // of all quantized linears
  nlohmann::json details;                // layers, calibration, and the cost of the pass
  std::shared_ptr<FormatWriter> stored;  // set with QuantizerCell::store_as
  // Parallel to the fused score requests; without the last ones if they were not known yet when the
  // pass of several settings ran.
  std::vector<ScoreAnswer> answers = {};
};

// A quantizer with a calibration sample.
struct Quantization {
  const QuantizerCell* cell;
  CalibrationDraw draw;
  std::vector<std::string> keys = {};  // content keys of the cells that wait for it
};

class QuantizeCell {
 public:
  // `quantizers` creates the cells' instances; all must outlive it.
  QuantizeCell(Catalog& catalog, Corpora& corpora, QuantizerInstances& quantizers)
      : catalog_(catalog), corpora_(corpora), quantizers_(quantizers) {}

  // Sets the quantizations to expect for the open model, replacing earlier ones. Those that can
  // share a pass with one that is applied run with it, and their results wait.
  void expect(std::vector<Quantization> quantizations);
  // The model has the quantized weights afterwards, until `kept.restore()`. `fused` is scored in a
  // pass that this call begins; while a result waits, requests may only be added to it. Throws
  // Error.
  QuantizedModel apply(const QuantizerCell& cell, const CalibrationDraw& draw, ModelHandle& model,
                       TokenizerChoice& tokenizer, FloatWeights& kept,
                       std::span<const ScoreRequest> fused = {});
  // The calibration sequences that apply would use, to check early that they exist.
  CalibrationRows rows(const QuantizerCell& cell, const CalibrationDraw& draw, ModelHandle& model,
                       TokenizerChoice& tokenizer);

 private:
  struct Waiting {
    Quantization of;
    QuantizedSetting setting;
    nlohmann::json plan;  // the result of check_plan
  };
  QuantizedModel apply_alone(const QuantizerCell& cell, const CalibrationDraw& draw,
                             ModelHandle& model, TokenizerChoice& tokenizer, FloatWeights& kept,
                             std::span<const ScoreRequest> fused);
  // Checks that the quantizer's channel scales preserve the float model, which is in `model`.
  // Returns a text for the record; null if the quantizer has no scales.
  static nlohmann::json check_plan(QuantizerHandle& quantizer, ModelHandle& model,
                                   const CalibrationRows* calibration);
  // The expected quantization, or this one alone.
  Quantization expected(const QuantizerCell& cell, const CalibrationDraw& draw) const;
  // Runs one pass for the quantization and all expected ones that can share it; their results wait.
  // Does nothing if there are none.
  void run_together(const Quantization& first, ModelHandle& model, TokenizerChoice& tokenizer,
                    std::span<const ScoreRequest> fused);

  // The format in which its weights are stored; nothing if they are not.
  std::optional<FormatHandle> format_of(const QuantizerCell& cell);

  // The layer-error evaluator for a quantizer that cannot measure its own error, found when it is
  // first needed; nullptr for others, or where there is none.
  QuantizerHandle* judge_for(const QuantizerCell& cell);

  Catalog& catalog_;
  Corpora& corpora_;
  QuantizerInstances& quantizers_;
  std::optional<QuantizerHandle> judge_;
  bool judge_searched_ = false;
  std::vector<Quantization> expected_;
  std::vector<Waiting> waiting_;
};

}  // namespace quench
