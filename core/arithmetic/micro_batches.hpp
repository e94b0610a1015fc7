// Which rows go through the model together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quench {

// A rectangle of token ids: `rows` rows of `length` ids each.
struct MicroBatch {
  std::vector<uint64_t> rows;  // indices into the caller's rows
  int64_t length = 0;
};

// Tokens that go through the model at once. The shape of micro-batches is part of the result
// (rounding, int8 outliers), so it follows from the rows' lengths alone, never from threads or free
// memory.
inline constexpr int64_t kMicroBatchTokens = 2048;

// Rows of equal length together, in order of length, then of index; as many rows as fit in
// kMicroBatchTokens, at least one.
std::vector<MicroBatch> plan_micro_batches(std::span<const uint64_t> starts);

}  // namespace quench
