// An open corpus of a plugin. Every call throws quench::Error whose message starts with "corpus
// <id>: ".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/arithmetic/corpus_pieces.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "quench/abi/kind/corpus.h"

namespace quench {

class CorpusHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  CorpusHandle(Catalog& catalog, const PluginDescription& description,
               const nlohmann::json& parameters);

  const std::string& id() const { return id_; }
  // Fills the next document, whose pointers are valid until the next call; returns false at the
  // end. Sets exactly one of text, ids, record, the same one for all documents of the corpus.
  bool next(quench_document& document);
  // How many documents it passed over so far, as its parameters say: by their places.
  uint64_t skipped() const { return places_ > given_ ? places_ - given_ : 0; }
  uint64_t given() const { return given_; }
  // SHA-256 of the bytes of its files: 64 lower-case hex digits.
  std::string fingerprint();

 private:
  std::string id_;
  PluginObject<&quench_corpus_table::close> corpus_;
  uint64_t places_ = 0;
  uint64_t given_ = 0;
  int form_ = 0;  // 1 text, 2 ids, 3 record; 0 before the first document
};

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
  // The share of the text that is expected, 0 to 1. Hashes divide the documents, so the true one
  // differs a little.
  double share() const;
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
