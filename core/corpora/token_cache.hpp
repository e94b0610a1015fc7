// Tokenized text on disk, by what it depends on. A file that does not verify is as good as none,
// and a folder that cannot be written costs time, never a result.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/corpora/tokenized_corpus.hpp"

namespace quench {

class TokenCache {
 public:
  // `home`: QUENCH_HOME; files lie in its subfolder tokens/. Empty: nothing is found or kept.
  explicit TokenCache(const std::filesystem::path& home);

  // The name of what depends on `parts` alone: SHA-256 of its canonical JSON.
  static std::string key_of(const nlohmann::json& parts);

  // What was kept under `key`, without a name; nothing when there is no file. A file that is
  // damaged, cut or another key's is nothing too, and the log says so.
  std::optional<TokenizedCorpus> find(const std::string& key) const;
  // Written to a temporary name, synced, renamed. When that fails the log says so, once, and
  // nothing is kept from then on.
  void keep(const std::string& key, const TokenizedCorpus& corpus);

  std::filesystem::path path_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
  bool writable_ = true;
};

}  // namespace quench
