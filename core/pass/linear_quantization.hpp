// Quantizes one linear after its group has seen all activations: its weight goes through each
// setting's quantizer, and the result goes into the model or waits for the end of the pass.
#pragma once

#include <string>

#include "core/checkpoint/host_tensor.hpp"
#include "core/inputs/weights/float_weights.hpp"
#include "core/pass/observed_group.hpp"
#include "core/pass/pass_clock.hpp"
#include "core/pass/pass_settings.hpp"
#include "core/pass/quantize_sink.hpp"

namespace quench {

class LinearQuantization {
 public:
  // All arguments must outlive it.
  LinearQuantization(ModelHandle& model, const QuantizeOptions& options, FloatWeights& kept,
                     PassSettings& settings, PassClock& clock);

  // Call before `quantize` if a setting decides for the group as a whole.
  void prepare_group(ObservedGroup& group);
  // A failure belongs to the setting; the failure of the only setting is thrown.
  void quantize(uint32_t block, ObservedGroup& group, uint32_t linear);

 private:
  // The weight in the form that quantizers get; NUMERICAL naming it if it is not finite.
  HostTensor float_weight(const quench_linear_info& linear) const;
  // The same on the model's device, where the quantizer looks whether it is finite.
  DeviceTensor device_weight(const quench_linear_info& linear) const;
  // Whether neither the weight nor its codes are needed in host memory.
  bool stays_on_device(const ObservedGroup& group) const;
  void quantize_on_device(uint32_t block, ObservedGroup& group, const quench_linear_info& linear,
                          uint32_t index);
  void keep(const quench_linear_info& linear);
  LayerResult quantize_for(PassSetting& setting, uint32_t block, ObservedGroup& group,
                           uint32_t linear, const HostTensor& weight);
  void call_quantizer(PassSetting& setting, ObservedGroup& group, uint32_t linear, uint32_t flags,
                      const quench_tensor& weight, const quench_tensor& dequantized,
                      QuantizeSink& sink);
  void set_op(const PassSetting& setting, uint32_t block, const ObservedGroup& group,
              uint32_t linear, quench_linear_op op);
  // Sets the op on keys and values that the quantizer has put into the sink, if it has.
  void set_cache_op(const PassSetting& setting, uint32_t block, const quench_linear_info& linear,
                    QuantizeSink& sink);
  // Into the model, or to wait in host memory for the end of the pass.
  void take_weight(PassSetting& setting, const std::string& name, const DeviceTensor& dequantized);
  void take_weight(PassSetting& setting, const std::string& name, const HostTensor& dequantized);

  ModelHandle& model_;
  const QuantizeOptions& options_;
  FloatWeights& kept_;
  PassSettings& settings_;
  PassClock& clock_;
  bool keeps_on_device_;  // float weights
};

}  // namespace quench
