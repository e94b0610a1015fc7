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

// Tokens that go through a model in host memory at once. The shape of micro-batches is part of the
// result (rounding, int8 outliers), so it depends only on the lengths of the sequences, never on
// threads or free memory.
inline constexpr int64_t kMicroBatchTokens = 2048;

// The same on a GPU, which needs more of them at once: as many as have 2^27 outputs of the widest
// linear, a power of two from 2048 to 32768. `widest` is its number of outputs.
int64_t micro_batch_tokens_on_gpu(int64_t widest);

// Groups sequences of equal length, ordered by length, then by index; each batch has as many as fit
// in `tokens`, at least one.
std::vector<MicroBatch> plan_micro_batches(std::span<const uint64_t> starts,
                                           int64_t tokens = kMicroBatchTokens);

}  // namespace quench
