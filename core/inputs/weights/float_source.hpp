// The weights that a model had before it was quantized in place.
#pragma once

#include <map>

#include "core/checkpoint/tensor_source.hpp"
#include "core/inputs/weights/float_weights.hpp"

namespace quench {

// All parameters of the model under their own names, in their order. Takes those that `kept` has
// from there, and copies the unchanged others from the model now, so that a metric may change
// any weight later. `kept` must outlive the source and keep nothing more meanwhile.
// [thread-safe]
class FloatSource final : public TensorSource {
 public:
  FloatSource(const ModelHandle& model, const FloatWeights& kept);

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  std::vector<const HostTensor*> values_;  // by index, in `kept` or in `copied_`
  std::map<std::string, HostTensor> copied_;
};

}  // namespace quench
