// One input group while its rows come by, with the quantizer's state for it and, where that cannot
// measure its own output error, the judge's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/pass/quantize_model.hpp"
#include "core/pass/routed_rows.hpp"
#include "core/plugin/model_handle.hpp"
#include "core/plugin/quantizer_handle.hpp"

namespace quench {

class ObservedGroup {
 public:
  // `info` and `input_scale` are borrowed. `judge` may be null; it is asked only where there will
  // be rows.
  ObservedGroup(const quench_group_info& info, uint32_t block, uint32_t group, quench_device device,
                QuantizerHandle& quantizer, QuantizerHandle* judge,
                const std::vector<double>* input_scale = nullptr);

  // By which rows are divided before anyone sees them, and weights are to be multiplied; or null.
  const std::vector<double>* input_scale() const { return input_scale_; }

  const quench_group_info& info() const { return *info_; }
  uint32_t index() const { return args_.group; }

  // Rows of one micro-batch: what is carried after the group's stage, with its routes, and, where
  // the quantizer needs it, the same of the float stream. Of a routed group only its expert's rows.
  // UNSUPPORTED for a routed group with a float stream, whose routes differ.
  void observe(const std::vector<quench_tensor>& carried, StageRoutes& routes,
               const std::vector<quench_tensor>* float_carried);
  // After the last row. A method that needs rows gets a stand-in for those that never came to an
  // expert.
  void close_rows();
  // Rows that come from elsewhere than the carried tensors.
  void observe_rows(const quench_tensor& x);

  bool routed() const { return info_->rows >= 0; }
  bool unreached() const { return routed() && routed_rows_ == 0; }
  // Fewer rows than columns came to its expert.
  bool thin() const { return routed() && routed_rows_ < args_.in_features; }
  // Adds to the record of a linear what there is to say of its expert's rows.
  void describe_rows(LayerResult& layer) const;

  // Hands all weights of the group to `quantizer`, which wants them.
  void prepare(QuantizerHandle& quantizer, std::span<const quench_tensor> weights) {
    group_.prepare_for(quantizer, weights);
  }
  // On the state that the quantizer of the constructor has begun; `quantizer` is that one or
  // accepts its groups.
  void quantize(QuantizerHandle& quantizer, const quench_quantize_args& args);
  // Relative output error on the observed rows; NaN where there were none or nobody can say.
  double relative_error(const quench_tensor& weight, const quench_tensor& dequantized) const;

 private:
  void observe_args(const quench_observe_args& args);

  const quench_group_info* info_;
  quench_group_args args_;
  const QuantizerHandle* owner_;
  QuantizerHandle::Group group_;
  std::optional<QuantizerHandle::Group> judge_;
  bool observes_;
  const std::vector<double>* input_scale_;
  bool reached_ = false;     // by any row
  int64_t routed_rows_ = 0;  // where rows are routed: that came to this expert
  bool assumed_white_ = false;
};

}  // namespace quench
