// One quantizer of the grid applied to an open model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/corpora/corpora.hpp"
#include "core/experiment/experiment.hpp"
#include "core/pass/quantize_model.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/quantizer_handle.hpp"

namespace quench {

struct QuantizedModel {
  double bits_per_weight = 0;
  nlohmann::json details;                // layers, calibration, and what the pass cost
  std::shared_ptr<FormatWriter> stored;  // with QuantizerCell::store_as
  // Parallel to the requests that were scored on the way; without the last of them where those were
  // not known yet when the pass of several settings ran.
  std::vector<ScoreAnswer> answers = {};
};

// A quantizer on a calibration draw.
struct Quantization {
  const QuantizerCell* cell;
  CalibrationDraw draw;
  std::vector<std::string> keys = {};  // content keys of the cells that wait for it
};

class QuantizeCell {
 public:
  // `quantizers` make the cells' instances; all outlive it.
  QuantizeCell(Catalog& catalog, Corpora& corpora, QuantizerInstances& quantizers)
      : catalog_(catalog), corpora_(corpora), quantizers_(quantizers) {}

  // What is to be applied to the model that is open now, in place of what was expected before.
  // Those that can share a pass with one that is applied go through it, and wait for their turn.
  void expect(std::vector<Quantization> quantizations);
  // The model carries the quantized weights afterwards, until `kept.restore()`. `fused` are scored
  // in a pass that this call begins; requests may only be added to them as long as something waits.
  // Throws Error.
  QuantizedModel apply(const QuantizerCell& cell, const CalibrationDraw& draw, ModelHandle& model,
                       TokenizerChoice& tokenizer, FloatWeights& kept,
                       std::span<const ScoreRequest> fused = {});
  // The calibration rows that apply would use; for those who want to know early that they exist.
  CalibrationRows rows(const QuantizerCell& cell, const CalibrationDraw& draw, ModelHandle& model,
                       TokenizerChoice& tokenizer);

 private:
  struct Waiting {
    Quantization of;
    QuantizedSetting setting;
    nlohmann::json plan;  // what check_plan said
  };
  QuantizedModel apply_alone(const QuantizerCell& cell, const CalibrationDraw& draw,
                             ModelHandle& model, TokenizerChoice& tokenizer, FloatWeights& kept,
                             std::span<const ScoreRequest> fused);
  // Checks that what the quantizer says of its channel scales leaves the float model as it is,
  // which is in `model`; a word for the record, null where it says nothing.
  static nlohmann::json check_plan(QuantizerHandle& quantizer, ModelHandle& model,
                                   const CalibrationRows* calibration);
  // As it is expected, or on its own.
  Quantization expected(const QuantizerCell& cell, const CalibrationDraw& draw) const;
  // Runs one pass for the quantization and all expected ones that can share it; they wait
  // afterwards. Nothing happens where there are none.
  void run_together(const Quantization& first, ModelHandle& model, TokenizerChoice& tokenizer,
                    std::span<const ScoreRequest> fused);

  // In which its weights are stored; nothing where they are not.
  std::optional<FormatHandle> format_of(const QuantizerCell& cell);

  // Who measures the layers' errors; looked for when it is first needed.
  QuantizerHandle* judge();

  Catalog& catalog_;
  Corpora& corpora_;
  QuantizerInstances& quantizers_;
  std::optional<QuantizerHandle> judge_;
  bool judge_searched_ = false;
  std::vector<Quantization> expected_;
  std::vector<Waiting> waiting_;
};

}  // namespace quench
