// The named weights of a model: declared by the family, filled from a tensor source, read and
// overwritten by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/decoder/residence.hpp"
#include "quench/abi/kind/model.h"
#include "quench/kit/source.hpp"

namespace quench::decoder {

// The initial value of an element from a number that is uniform in (0, 1).
using InitialValue = std::function<double(uint64_t element, double chance)>;

struct WeightSpec {
  std::string name;
  std::vector<int64_t> shape;
  int32_t role;  // QUENCH_ROLE_*
  // Other names of this tensor in files and calls: another spelling, or a tied tensor.
  std::vector<std::string> aliases = {};
  // The initial value without a checkpoint; empty: the rule of `role` (initial_weights.hpp).
  std::optional<double> initial = std::nullopt;
  InitialValue draw = {};  // in place of both where it is set
};

// The declared order is the order of the flat parameter vector.
class Weights {
 public:
  // Reads every declared tensor and converts it to `dtype`, rounding once. Before it asks for
  // memory, throws one DATA_LOSS error that names the tensors that are missing, unexpected, of a
  // wrong shape, or present under two names with different values. Skips tensors whose name ends
  // with one of `ignorable` (buffers in old files).
  Weights(std::vector<WeightSpec> specs, const kit::Source& source,
          std::span<const std::string> ignorable, at::ScalarType dtype, at::Device device);
  // Draws every declared tensor with this initializer_range (initial_weights.hpp).
  Weights(std::vector<WeightSpec> specs, double range, at::ScalarType dtype, at::Device device);

  // Leaves every declared tensor unset: its memory is reserved but not touched.
  Weights(std::vector<WeightSpec> specs, at::ScalarType dtype, at::Device device);

  // By name or alias; throws NOT_FOUND if there is none. The handle stays valid. If the model comes
  // block by block, one of a block has memory after `enter` of that block, until that of another,
  // and perhaps before, when it is on its way.
  const at::Tensor& at(const std::string& name) const { return tensors_[index_of(name)]; }
  bool has(const std::string& name) const { return indices_.contains(name); }
  std::span<const quench_parameter_info> parameters() const { return infos_; }
  const at::Tensor& tensor(size_t parameter) const { return tensors_[parameter]; }
  // Whether blocks take turns on the device (residence.hpp), and whose turn it is now.
  bool by_block() const { return by_block_; }
  void enter(uint32_t block) { visiting_.enter(block); }
  // The parameters of a block, by their names, or of none: embedding, head and last norm.
  std::vector<size_t> of_block(std::optional<uint32_t> block) const;
  uint64_t total() const { return total_; }  // elements of the flat parameter vector

  // As in quench_model_table.
  void get(const std::string& name, const quench_tensor& destination) const;
  void set(const std::string& name, const quench_tensor& value);
  // As in quench.model.shared_weights/1, for weights of the vector's dtype that do not come by
  // block: moves each into its part of `vector`, where every view of it follows.
  void move_to(const at::Tensor& vector);
  uint64_t generation(const std::string& name) const { return generations_[index_of(name)]; }

 private:
  struct Declared {};
  Weights(Declared, std::vector<WeightSpec> specs, at::ScalarType dtype, at::Device device);
  // The memory of a weight that is to be filled.
  at::Tensor allocate(size_t index);
  const at::Tensor& home(size_t index) const;
  size_t index_of(const std::string& name) const;

  std::vector<WeightSpec> specs_;  // never changes after construction: infos_ points into it
  at::ScalarType dtype_;
  at::Device device_;
  std::vector<std::vector<const char*>> alias_pointers_;
  std::vector<quench_parameter_info> infos_;
  std::unordered_map<std::string, size_t> indices_;  // names and aliases
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> homes_;  // of those that visit the device, else undefined
  VisitingWeights visiting_;
  bool by_block_ = false;
  std::vector<uint64_t> generations_;
  uint64_t total_ = 0;
};

// Copies `from` to `to` (same shape, any float dtypes and devices), rounding each element once;
// libtorch alone would round float64 to float32 on its way to 16 bits.
void convert(const at::Tensor& from, const at::Tensor& to);

}  // namespace quench::decoder
