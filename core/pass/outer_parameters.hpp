// The token embedding and the output head, outside all blocks: each is a group of one linear.
#pragma once

#include <string>

#include "core/pass/calibration_streams.hpp"
#include "core/pass/linear_quantization.hpp"
#include "core/pass/pass_settings.hpp"

namespace quench {

class OuterParameters {
 public:
  // All arguments must outlive it.
  OuterParameters(ModelHandle& model, const QuantizeOptions& options, PassSettings& settings,
                  CalibrationStreams& streams, LinearQuantization& linears);

  // Uses no activations. UNSUPPORTED if the model names none.
  void quantize_embedding();
  // Uses the activations that the head reads, after all blocks. UNSUPPORTED if the head is tied.
  void quantize_head();

 private:
  // Quantizes it as the only linear of a group. `judge` may be null; `observe` shows the group its
  // activations.
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
