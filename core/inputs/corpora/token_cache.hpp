// Caches tokenized text on disk under a key of everything it depends on. A file that does not
// verify counts as missing; a folder that cannot be written costs time, never a result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace quench {

// A corpus as token ids.
struct TokenizedCorpus {
  std::string name;
  std::vector<int32_t> ids;       // all documents, concatenated
  std::vector<uint64_t> offsets;  // [documents+1]
  std::vector<uint64_t> bytes;    // [documents]; empty if the corpus supplies ids
  std::string fingerprint;        // SHA-256 of the corpus's files
  uint64_t skipped = 0;           // documents that it passed over, as its parameters say
  uint64_t documents() const { return offsets.size() - 1; }
};

class TokenCache {
 public:
  // `home`: QUENCH_HOME; files go to its subfolder tokens/. Empty: finds and keeps nothing.
  explicit TokenCache(const std::filesystem::path& home);

  // The key of text that depends on `parts` alone: SHA-256 of their canonical JSON.
  static std::string key_of(const nlohmann::json& parts);

  // Returns the corpus kept under `key`, without a name; nothing if there is no file, or if the
  // file is damaged, cut short or belongs to another key, which the log reports.
  std::optional<TokenizedCorpus> find(const std::string& key) const;
  // Writes to a temporary name, syncs and renames. If that fails, logs it once and keeps nothing
  // from then on.
  void keep(const std::string& key, const TokenizedCorpus& corpus);

  std::filesystem::path path_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
  bool writable_ = true;
};

}  // namespace quench
