// An open corpus of a plugin. Every call throws quench::Error whose message starts with "corpus
// <id>: ".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

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

}  // namespace quench
