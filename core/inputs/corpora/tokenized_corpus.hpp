// A corpus as token ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench {

struct TokenizedCorpus {
  std::string name;
  std::vector<int32_t> ids;       // all documents, concatenated
  std::vector<uint64_t> offsets;  // [documents+1]
  std::vector<uint64_t> bytes;    // [documents]; empty if the corpus supplies ids
  std::string fingerprint;        // SHA-256 of the corpus's files
  uint64_t skipped = 0;           // documents that it passed over, as its parameters say
  uint64_t documents() const { return offsets.size() - 1; }
};

}  // namespace quench
