// The named weights of a model: declared by the family, filled from a tensor source, read and
// overwritten by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "quench/abi/kind/model.h"
#include "quench/kit/source.hpp"

namespace quench::decoder {

struct WeightSpec {
  std::string name;
  std::vector<int64_t> shape;
  int32_t role;  // QUENCH_ROLE_*
  // Further names under which files and callers know it: another spelling, or a tied tensor.
  std::vector<std::string> aliases = {};
  // Of a model without a checkpoint; none: as `role` says (initial_weights.hpp).
  std::optional<double> initial = std::nullopt;
};

// The declared order is the order of the flat parameter vector.
class Weights {
 public:
  // Reads every declared tensor, converted to `dtype`, rounding once. One DATA_LOSS error, before
  // any memory is asked for, names tensors that are missing, unexpected, of a wrong shape, or there
  // under two names with different values. Tensors whose name ends with one of `ignorable` are
  // skipped (buffers of old files).
  Weights(std::vector<WeightSpec> specs, const kit::Source& source,
          std::span<const std::string> ignorable, at::ScalarType dtype, at::Device device);
  // Draws every declared tensor with that initializer_range (initial_weights.hpp).
  Weights(std::vector<WeightSpec> specs, double range, at::ScalarType dtype, at::Device device);

  // Leaves every declared tensor unset: their memory is reserved, not touched.
  Weights(std::vector<WeightSpec> specs, at::ScalarType dtype, at::Device device);

  // By name or alias; NOT_FOUND when there is none. The storage never moves, so the handle may be
  // kept.
  const at::Tensor& at(const std::string& name) const { return tensors_[index_of(name)]; }
  bool has(const std::string& name) const { return indices_.contains(name); }
  std::span<const quench_parameter_info> parameters() const { return infos_; }
  const at::Tensor& tensor(size_t parameter) const { return tensors_[parameter]; }
  uint64_t total() const { return total_; }  // elements of the flat parameter vector

  // As quench_model_table has them.
  void get(const std::string& name, const quench_tensor& destination) const;
  void set(const std::string& name, const quench_tensor& value);
  uint64_t generation(const std::string& name) const { return generations_[index_of(name)]; }

 private:
  struct Declared {};
  Weights(Declared, std::vector<WeightSpec> specs, at::ScalarType dtype, at::Device device);
  at::Tensor allocate(size_t index);
  size_t index_of(const std::string& name) const;

  std::vector<WeightSpec> specs_;  // never changes after construction: infos_ points into it
  at::ScalarType dtype_;
  at::Device device_;
  std::vector<std::vector<const char*>> alias_pointers_;
  std::vector<quench_parameter_info> infos_;
  std::unordered_map<std::string, size_t> indices_;  // names and aliases
  std::vector<at::Tensor> tensors_;
  std::vector<uint64_t> generations_;
  uint64_t total_ = 0;
};

// Copies `from` to `to` (same shape, any float dtypes and devices), rounding each element once;
// libtorch alone would round float64 to float32 on its way to 16 bits.
void convert(const at::Tensor& from, const at::Tensor& to);

}  // namespace quench::decoder
