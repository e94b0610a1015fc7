// A source with some tensors replaced, such as a checkpoint with its quantized weights.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// Keeps the base's order, names and shapes; replaced tensors are float32. A replaced tensor is no
// longer tied to others; the others stay tied among themselves.
class OverlaySource final : public TensorSource {
 public:
  // Throws Error: NOT_FOUND if the base lacks a name, INVALID_ARGUMENT for a wrong element count.
  OverlaySource(std::shared_ptr<const TensorSource> base,
                std::map<std::string, std::vector<float>> replaced);

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  std::shared_ptr<const TensorSource> base_;
  std::map<std::string, std::vector<float>> replaced_;
  std::vector<const std::vector<float>*> by_index_;  // null for tensors read from the base
};

}  // namespace quench
