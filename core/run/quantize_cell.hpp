// One quantizer of the grid applied to an open model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "core/plugin/quantizer_handle.hpp"
#include "core/run/corpora.hpp"
#include "core/run/experiment.hpp"
#include "core/run/quantize_model.hpp"

namespace quench {

struct QuantizedModel {
  double bits_per_weight = 0;
  nlohmann::json details;  // layers, calibration, quantize_seconds
};

class QuantizeCell {
 public:
  QuantizeCell(Catalog& catalog, Corpora& corpora) : catalog_(catalog), corpora_(corpora) {}

  // The model carries the quantized weights afterwards, until `kept.restore()`. Throws Error.
  QuantizedModel apply(const QuantizerCell& cell, const CalibrationDraw& draw, ModelHandle& model,
                       TokenizerChoice& tokenizer, FloatWeights& kept);
  // The calibration rows that apply would use; for those who want to know early that they exist.
  CalibrationRows rows(const QuantizerCell& cell, const CalibrationDraw& draw, ModelHandle& model,
                       TokenizerChoice& tokenizer);

 private:
  // Who measures the layers' errors; looked for when it is first needed.
  QuantizerHandle* judge();

  Catalog& catalog_;
  Corpora& corpora_;
  std::optional<QuantizerHandle> judge_;
  bool judge_searched_ = false;
};

}  // namespace quench
