// Compares two states of a model by the logits of a few short sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arithmetic/calibration_rows.hpp"
#include "core/plugin/handles/model_handle.hpp"

namespace quench {

class LogitProbe {
 public:
  // Uses the beginnings of the first calibration sequences; without any, ids that are spread over
  // the vocabulary.
  LogitProbe(ModelHandle& model, const CalibrationRows* calibration);

  // Logits of all tokens; for a model in 16 bits, their negative log-likelihoods.
  std::vector<double> read() const;
  // Root mean square of the difference, relative to that of `before`.
  static double distance(const std::vector<double>& before, const std::vector<double>& after);
  // The distance that rounding alone can cause for a change that preserves the function.
  double tolerance() const;

 private:
  ModelHandle& model_;
  CalibrationRows rows_;
};

}  // namespace quench
