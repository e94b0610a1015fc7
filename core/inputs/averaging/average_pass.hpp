// Reads, hashes, averages and emits all members of an average in one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/inputs/averaging/average_source.hpp"

namespace quench {

struct AveragePass {
  uint32_t threads = 1;
  // Receives the elements of the average in pieces: tensors in the order of their names, elements
  // in order. One thread calls it at a time.
  std::function<void(uint64_t index, const void* data, uint64_t bytes)> take;
  // Called after each piece with the bytes emitted so far and the total.
  std::function<void(uint64_t done, uint64_t total)> on_progress = {};
};

// Returns the content hash of each member in the order of average.members(). Memory: a few pieces
// of at most 2^18 elements per member. Throws what reading, averaging and `take` throw, and
// Error(CANCELLED) after a stop request.
std::vector<std::string> run_average_pass(const AverageSource& average, const AveragePass& pass);

}  // namespace quench
