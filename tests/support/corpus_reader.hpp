// Reads a corpus plugin to its end, as a test wants to see it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quench/abi/kind/corpus.h"
#include "quench/abi/module.h"

namespace quench::test {

struct ReadDocument {
  std::string text;  // or the record
  std::vector<int32_t> ids;
  uint64_t index = 0;
  int forms = 0;  // how many of text, ids, record were set
};

struct ReadCorpus {
  std::vector<ReadDocument> documents;
  uint64_t places = 0;                // of documents, skipped ones too, as its end says
  quench_status status = QUENCH_END;  // how it ended: QUENCH_END, or what failed
  std::string message;                // of the failure
  std::string fingerprint;            // empty when the corpus could not be opened
  std::vector<std::string> texts() const;
};

ReadCorpus read_corpus(const quench_item& item, const nlohmann::json& parameters);

}  // namespace quench::test
