// The state of an optimizer: named float32 or float64 tensors in the order of their creation.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/tensor.hpp"

namespace quench::optimizers {

class State {
 public:
  // Zeroed tensors of this shape; the reference stays valid. `name`: "<what>/<parameter>".
  template <typename T>
  std::vector<T>& add(const std::string& name, std::vector<int64_t> shape) {
    Entry& entry = entries_.emplace_back();
    entry.name = name;
    if constexpr (std::is_same_v<T, float>) {
      entry.single.emplace_back(std::move(shape));
      return entry.single.front().values();
    } else {
      entry.twice.emplace_back(std::move(shape));
      return entry.twice.front().values();
    }
  }
  void clear() { entries_.clear(); }

  // Implements quench_optimizer_table.state.
  bool at(uint64_t index, const char*& name, quench_tensor& view) {
    if (index >= entries_.size()) {
      return false;
    }
    Entry& entry = entries_[index];
    name = entry.name.c_str();
    view = entry.single.empty() ? entry.twice.front().view() : entry.single.front().view();
    return true;
  }

 private:
  struct Entry {
    std::string name;
    std::vector<kit::OwnedTensor<float>> single;  // one of the two
    std::vector<kit::OwnedTensor<double>> twice;
  };
  std::deque<Entry> entries_;
};

inline std::vector<int64_t> shape_of(const quench_parameter_info& tensor) {
  return {tensor.shape, tensor.shape + tensor.dimensions};
}

}  // namespace quench::optimizers
