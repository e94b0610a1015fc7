// The token embedding and the output head, which belong to no block: each a group of one linear.
#pragma once

#include <string>

#include "core/pass/calibration_streams.hpp"
#include "core/pass/linear_quantization.hpp"
#include "core/pass/pass_settings.hpp"

namespace quench {

class OuterParameters {
 public:
  // All outlive it.
  OuterParameters(ModelHandle& model, const QuantizeOptions& options, PassSettings& settings,
                  CalibrationStreams& streams, LinearQuantization& linears);

  // Without rows. UNSUPPORTED where the model names none.
  void quantize_embedding();
  // On the rows that it reads, once all blocks are done. UNSUPPORTED where it is tied.
  void quantize_head();

 private:
  // As the only linear of a group. `judge` may be null; `observe` shows the group
  // its rows.
  template <typename Observe>
  void quantize(const quench_parameter_info& parameter, const char* role, QuantizerHandle* judge,
                Observe observe);

  ModelHandle& model_;
  const QuantizeOptions& options_;
  PassSettings& settings_;
  CalibrationStreams& streams_;
  LinearQuantization& linears_;
};

}  // namespace quench
