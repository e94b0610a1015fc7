// Parts of the parameter vector for which curvatures and errors are reported separately.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/kind/model.h"

namespace quench::curvature {

// Elements [first, end) of the flat vector.
struct Range {
  uint64_t first;
  uint64_t end;

  uint64_t size() const { return end - first; }
};

// Some parameters, neighbours in one range.
struct Part {
  std::string name;
  std::vector<Range> ranges;
};

// Elements of all ranges.
uint64_t size_of(std::span<const Range> ranges);

// One part per parameter.
std::vector<Part> layers_of(std::span<const quench_parameter_info> parameters);
// One part per block, named by the common start of its parameters up to the block's number
// ("gpt_neox.layers.0"), in whatever order they come. Each parameter outside of the blocks is a
// part of its own.
std::vector<Part> blocks_of(std::span<const quench_parameter_info> parameters);

}  // namespace quench::curvature
