// One pass over all members of an average that reads, hashes, averages and hands on at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/averaging/average_source.hpp"

namespace quench {

struct AveragePass {
  uint32_t threads = 1;
  bool hash = true;  // the members' content hashes
  // The elements of the average, tensor by tensor in the order of names, each in order and in
  // pieces; called by one thread at a time.
  std::function<void(uint64_t index, const void* data, uint64_t bytes)> take;
  // Called after each piece: bytes handed on, and in all.
  std::function<void(uint64_t done, uint64_t total)> on_progress = {};
};

// Indices of the source's tensors in the order of their names.
std::vector<uint64_t> name_order(const TensorSource& source);

// The content hash of each member, in the order of average.members(), or nothing without `hash`.
// Memory: a few pieces of at most 2^18 elements of each member. Throws what reading, averaging and
// `take` throw, and Error(CANCELLED) when a stop was requested.
std::vector<std::string> run_average_pass(const AverageSource& average, const AveragePass& pass);

}  // namespace quench
