// A model of a few thousand weights for each family that the contract runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench::test {

struct SmallTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> values;  // exact in float32
};

struct SmallModel {
  std::string config;
  std::vector<SmallTensor> tensors;
};

// The small model of family `id`; throws std::runtime_error where there is none yet.
SmallModel small_model(const std::string& id);

}  // namespace quench::test
