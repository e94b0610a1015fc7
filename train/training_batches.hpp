// Selects the ids of each step.
#pragma once

#include <cstdint>
#include <vector>

#include "train/packed_tokens.hpp"

namespace quench {

// Sequences of `length` inputs and their targets, shifted by one id. Sequence w begins at id
// w·length of the packed corpus, so that every id but the first is a target once per epoch; a tail
// shorter than a sequence is never used.
struct IdBatch {
  uint64_t sequences = 0;
  std::vector<int32_t> inputs;   // [sequences, length]
  std::vector<int32_t> targets;  // [sequences, length]
};

class TrainingBatches {
 public:
  // Throws Error(INVALID_ARGUMENT) if the corpus has no whole sequence.
  TrainingBatches(const PackedTokens& tokens, const std::string& corpus, uint64_t length);

  uint64_t sequences() const { return sequences_; }  // per epoch
  // Sequences first .. first+count-1 in the order of a seed, counted from the beginning of the
  // training: each epoch has its own shuffle.
  IdBatch shuffled(uint64_t seed, uint64_t first, uint64_t count) const;
  // The same sequences in the order of the corpus; first + count <= sequences().
  IdBatch in_order(uint64_t first, uint64_t count) const;

 private:
  void append(uint64_t sequence, IdBatch& out) const;

  const PackedTokens& tokens_;
  uint64_t length_;
  uint64_t sequences_;
};

}  // namespace quench
