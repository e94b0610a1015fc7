#include "train/training_batches.hpp"

#include "core/arithmetic/shuffle.hpp"
#include "core/error.hpp"

namespace quench {

TrainingBatches::TrainingBatches(const PackedTokens& tokens, const std::string& corpus,
                                 uint64_t length)
    : tokens_(tokens),
      length_(length),
      sequences_(tokens.size() > 0 ? (tokens.size() - 1) / length : 0) {
  if (sequences_ == 0) {
    fail(QUENCH_INVALID_ARGUMENT, "corpus {}: has {} ids, wanted at least {} for one sequence",
         corpus, tokens.size(), length + 1);
  }
}

void TrainingBatches::append(uint64_t sequence, IdBatch& out) const {
  std::vector<int32_t> ids(length_ + 1);
  tokens_.read(sequence * length_, ids);
  out.inputs.insert(out.inputs.end(), ids.begin(), ids.end() - 1);
  out.targets.insert(out.targets.end(), ids.begin() + 1, ids.end());
  ++out.sequences;
}

IdBatch TrainingBatches::shuffled(uint64_t seed, uint64_t first, uint64_t count) const {
  IdBatch out;
  for (uint64_t i = first; i < first + count; ++i) {
    append(Shuffle(sequences_, seed, i / sequences_)(i % sequences_), out);
  }
  return out;
}

IdBatch TrainingBatches::in_order(uint64_t first, uint64_t count) const {
  IdBatch out;
  for (uint64_t i = first; i < first + count; ++i) {
    append(i, out);
  }
  return out;
}

}  // namespace quench
