// Parts of the parameter vector that a curvature or an error is told of on its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/kind/model.h"

namespace quench::curvature {

// Consecutive parameters: [first, end) of the flat vector.
struct Part {
  std::string name;
  uint64_t first;
  uint64_t end;
};

// Each parameter a part.
std::vector<Part> layers_of(std::span<const quench_parameter_info> parameters);
// Each block a part, named by its parameters' names up to the block's number
// ("gpt_neox.layers.0"); what lies outside of blocks is a part a parameter.
std::vector<Part> blocks_of(std::span<const quench_parameter_info> parameters);

}  // namespace quench::curvature
