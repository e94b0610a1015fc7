// The tokenizer that turns text into ids: one for the whole run, or each checkpoint's
// own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/corpora/tokenizer.hpp"

namespace quench {

// What tells a tokenizer from another one: what its file holds, and which plugin reads it.
struct TokenizerIdentity {
  std::string file;                           // SHA-256 of its content, "bytes" or "none"
  const PluginDescription* plugin = nullptr;  // valid as long as the catalog; none for "bytes"

  // One line, for keys of what depends on nothing else of it.
  std::string key() const;
};

class TokenizerChoice {
 public:
  // `path`: a file that a tokenizer plugin reads, "bytes", or nothing.
  explicit TokenizerChoice(std::optional<std::string> path, std::string missing_message);
  // The one that a checkpoint's folder has, or none.
  static TokenizerChoice beside(Catalog& catalog, const std::filesystem::path& folder);
  // Throws Error with the constructor's message if there is no tokenizer.
  Tokenizer& get(Catalog& catalog);
  // Hashes the file.
  TokenizerIdentity identity(Catalog& catalog) const;

 private:
  std::optional<std::string> path_;
  std::string missing_message_;
  std::shared_ptr<Tokenizer> tokenizer_;
};

}  // namespace quench
