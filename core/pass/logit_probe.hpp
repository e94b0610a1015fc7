// Whether two states of a model compute the same: the logits of a few short sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arithmetic/calibration_rows.hpp"
#include "core/plugin/model_handle.hpp"

namespace quench {

class LogitProbe {
 public:
  // The beginnings of the first calibration rows; without any, ids that are spread over the
  // vocabulary.
  LogitProbe(ModelHandle& model, const CalibrationRows* calibration);

  // Logits of all tokens; of a model in 16 bits, their negative log-likelihoods.
  std::vector<double> read() const;
  // Root mean square of the difference, relative to that of `before`.
  static double distance(const std::vector<double>& before, const std::vector<double>& after);
  // What a change of the weights that leaves the function as it is may come to, by rounding.
  double tolerance() const;

 private:
  ModelHandle& model_;
  CalibrationRows rows_;
};

}  // namespace quench
