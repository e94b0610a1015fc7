// Observes the activations of one input group, with the quantizer's state for it and, if that
// cannot measure its own output error, the layer-error evaluator's (judge.hpp).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/pass/quantize_model.hpp"
#include "core/pass/routed_rows.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"

namespace quench {

class ObservedGroup {
 public:
  // The caller keeps `model`, `info` and `input_scale` alive. `judge` may be null; it is used only
  // if there are activations.
  ObservedGroup(ModelHandle& model, const quench_group_info& info, uint32_t block, uint32_t group,
                QuantizerHandle& quantizer, QuantizerHandle* judge,
                const std::vector<double>* input_scale = nullptr);

  // The scale that divides activations before anyone sees them and multiplies weights; or null.
  const std::vector<double>* input_scale() const { return input_scale_; }

  const quench_group_info& info() const { return *info_; }
  uint32_t index() const { return args_.group; }

  // Takes the activations of one micro-batch: the tensors carried after the group's stage, with its
  // routes, and, if the quantizer needs them, those of the float stream. A routed group takes only
  // its expert's rows. UNSUPPORTED for a routed group with a float stream, whose routes differ.
  void observe(const std::vector<quench_tensor>& carried, StageRoutes& routes,
               const std::vector<quench_tensor>* float_carried);
  // Call after the last activations. A method that needs them gets a stand-in if no token was
  // routed to its expert.
  void close_rows();
  // Takes activations that are not carried tensors.
  void observe_rows(const quench_tensor& x);

  bool routed() const { return info_->rows >= 0; }
  bool unreached() const { return routed() && routed_rows_ == 0; }
  // Its expert got fewer rows than it has columns.
  bool thin() const { return routed() && routed_rows_ < args_.in_features; }
  // Adds the number of its expert's rows, and any fallback, to the record of a linear.
  void describe_rows(LayerResult& layer) const;

  // Passes all weights of the group to `quantizer`, which wants them.
  void prepare(QuantizerHandle& quantizer, std::span<const quench_tensor> weights) {
    group_.prepare_for(quantizer, weights);
  }
  // Quantizes from the state that the constructor's quantizer began; `quantizer` is that one or
  // accepts its groups.
  void quantize(QuantizerHandle& quantizer, const quench_quantize_args& args);
  // Relative output error on the observed activations; NaN if there were none or it is unknown.
  double relative_error(const quench_tensor& weight, const quench_tensor& dequantized) const;

 private:
  void observe_args(const quench_observe_args& args);

  ModelHandle* model_;
  const quench_group_info* info_;
  quench_group_args args_;
  const QuantizerHandle* owner_;
  QuantizerHandle::Group group_;
  std::optional<QuantizerHandle::Group> judge_;
  bool observes_;
  const std::vector<double>* input_scale_;
  bool reached_ = false;     // by any row
  int64_t routed_rows_ = 0;  // routed groups: rows that reached this expert
  bool assumed_white_ = false;
};

}  // namespace quench
