// The float weights of a model that is quantized in place.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/checkpoint/host_tensor.hpp"
#include "core/plugin/model_handle.hpp"

namespace quench {

// Keeps weights as they were, and puts them back.
class FloatWeights {
 public:
  explicit FloatWeights(ModelHandle& model) : model_(model) {}
  ~FloatWeights() = default;
  FloatWeights(const FloatWeights&) = delete;
  FloatWeights& operator=(const FloatWeights&) = delete;

  // Keeps the current value of a weight, once.
  void keep(const std::string& name, const HostTensor& value);
  // The value kept in the layer of now, or nullptr: with a transform, the transformed float weight.
  const HostTensor* find(const std::string& name) const;
  void keep_op(uint32_t block, uint32_t group, uint32_t linear);
  // Whether linears are replaced by operations, which no weight describes.
  bool has_ops() const { return !ops_.empty(); }
  // Sets one kept weight back, and goes on keeping it.
  void put_back(const std::string& name) const;
  // Sets every kept weight back and forgets it.
  void restore();
  // What is kept from here on lies above what was kept before: put_back gives the weights of now,
  // and restore goes through both.
  void open_layer() { layers_.emplace_back(); }
  // Takes what `other` keeps into the layer of now, where nothing is kept under the same name.
  void take_over(FloatWeights& other);
  // Exchanges the weights of the layer of now with those in the model; twice is not at all.
  void exchange();

 private:
  struct Op {
    uint32_t block, group, linear;
  };
  ModelHandle& model_;
  std::vector<std::map<std::string, HostTensor>> layers_{1};
  std::vector<Op> ops_;
};

}  // namespace quench
