// The documents of a corpus, or those of one part of it: a share of them is held out, the rest is
// for training.
#pragma once

#include <cstdint>
#include <string>

#include "core/arithmetic/corpus_pieces.hpp"
#include "core/plugin/handles/corpus_handle.hpp"

namespace quench {

enum class PartKind { kAll, kTraining, kHeldOut };

// A document is held out by its content: the first 64 bits of its SHA-256, as a share of 2⁶⁴, are
// below `held_out`. So the parts are the same whatever stands beside it, and equal documents are in
// one part. Documents longer than kPieceBytes (or kPieceIds) are cut, text at the ends of lines
// where there are any, and each piece is a document of its own, so that one long file has both
// parts.
struct CorpusPart {
  PartKind kind = PartKind::kAll;
  double held_out = 0;
  // For keys: "", or what tells parts apart.
  std::string key() const;
  bool operator==(const CorpusPart&) const = default;
};

class PartReader {
 public:
  PartReader(CorpusHandle& corpus, CorpusPart part) : corpus_(corpus), part_(part) {}

  // As CorpusHandle::next, of the part alone.
  bool next(quench_document& document);

 private:
  bool belongs(const quench_document& document) const;
  bool refill();

  CorpusHandle& corpus_;
  CorpusPart part_;
  quench_document whole_{};  // the plugin's, being cut
  uint64_t at_ = 0;          // where its next piece begins
  uint64_t size_ = 0;
  uint64_t index_ = 0;
};

// The first 64 bits of the SHA-256 of a document's text or ids.
uint64_t document_hash(const quench_document& document);

}  // namespace quench
