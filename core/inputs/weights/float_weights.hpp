// The float weights of a model that is quantized in place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/host_tensor.hpp"
#include "core/inputs/weights/device_tensor.hpp"
#include "core/plugin/handles/model_handle.hpp"

namespace quench {

// Saves the original weights and restores them.
class FloatWeights {
 public:
  explicit FloatWeights(ModelHandle& model) : model_(model) {}
  ~FloatWeights() = default;
  FloatWeights(const FloatWeights&) = delete;
  FloatWeights& operator=(const FloatWeights&) = delete;

  // Saves the current value of a weight, once: a copy in host memory, or one that is there or on
  // the model's device already.
  void keep(const std::string& name, const HostTensor& value);
  void keep(const std::string& name, DeviceTensor value);
  // The value saved in the current layer, or nullptr; the transformed float weight, if transformed.
  // What was saved on the model's device is brought to host memory when it is asked for.
  const HostTensor* find(const std::string& name) const;
  // Sets an operation in the model, and takes it out again with `restore`. Takes ownership.
  void set_op(uint32_t block, uint32_t group, uint32_t linear, const quench_linear_op& op);
  // Likewise, on keys and values.
  void set_cache_op(uint32_t block, const quench_cache_op& op);
  // Whether the model has operations, which no weight describes.
  bool has_ops() const { return !ops_.empty(); }
  // Restores one saved weight, and keeps it saved.
  void put_back(const std::string& name) const;
  // Restores every saved weight and forgets it. Only forgets it if the model's process has ended.
  void restore();
  // Opens a layer above the earlier ones: put_back then restores the values of this layer, and
  // restore goes through all layers.
  void open_layer() { layers_.emplace_back(); }
  // Moves what `other` saved into the current layer, unless that has the same name already.
  void take_over(FloatWeights& other);
  // Calls `work` while the model has the saved weights of the current layer and no operations, and
  // exchanges them again for those that it had, however `work` ends.
  void during_exchange(const std::function<void()>& work);

 private:
  // One operation: sets a share of it in the model, and takes that out.
  struct Op {
    std::function<void()> give;
    std::function<void()> take_out;
  };
  void add(Op op);
  void write_back() const;
  void exchange();

  ModelHandle& model_;
  // One of both; `host` may be a copy of `device`.
  struct Kept {
    mutable std::optional<HostTensor> host;
    std::optional<DeviceTensor> device;
    quench_tensor view() const { return device ? device->view() : host->view(); }
  };
  std::vector<std::map<std::string, Kept>> layers_{1};
  std::vector<Op> ops_;
  bool ops_are_set_ = true;
};

}  // namespace quench
