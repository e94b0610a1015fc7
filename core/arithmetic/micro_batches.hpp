// Decides which sequences go through the model together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quench {

// A rectangle of token ids: `rows` sequences of `length` ids each.
struct MicroBatch {
  std::vector<uint64_t> rows;  // indices into the caller's sequences
  int64_t length = 0;
};

// Tokens that go through the model at once. The shape of micro-batches is part of the result
// (rounding, int8 outliers), so it depends only on the lengths of the sequences, never on threads
// or free memory.
inline constexpr int64_t kMicroBatchTokens = 2048;

// Groups sequences of equal length, ordered by length, then by index; each batch has as many as fit
// in kMicroBatchTokens, at least one.
std::vector<MicroBatch> plan_micro_batches(std::span<const uint64_t> starts);

}  // namespace quench
