// A source with some tensors replaced, such as a checkpoint with its quantized weights.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// Order, names and shapes are the base's; replaced tensors are float32. A replaced tensor is tied
// to nothing any more; the others keep their ties among themselves.
class OverlaySource final : public TensorSource {
 public:
  // Throws Error: NOT_FOUND for a name the base lacks, INVALID_ARGUMENT for another element count.
  OverlaySource(std::shared_ptr<const TensorSource> base,
                std::map<std::string, std::vector<float>> replaced);

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  std::shared_ptr<const TensorSource> base_;
  std::map<std::string, std::vector<float>> replaced_;
  std::vector<const std::vector<float>*> by_index_;  // null where the base is read
};

}  // namespace quench
