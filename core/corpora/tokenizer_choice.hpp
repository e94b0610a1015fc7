// The tokenizer that turns text into ids: one for the whole run, or each checkpoint's
// own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/checkpoint/checkpoint_folder.hpp"
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
  // The checkpoint's own: the one that its folder has, else the one inside the file of its weights,
  // else none.
  static TokenizerChoice of(Catalog& catalog, const CheckpointFolder& checkpoint);
  bool exists() const { return path_ || carried_; }
  // Throws Error with the constructor's message if there is no tokenizer.
  Tokenizer& get(Catalog& catalog);
  // Hashes the file. A carried one counts as the file that it would be.
  TokenizerIdentity identity(Catalog& catalog) const;

 private:
  Tokenizer open(Catalog& catalog) const;

  std::optional<std::string> path_;
  std::optional<CarriedFile> carried_;  // used where there is no path
  std::string carried_where_;           // for messages
  std::string missing_message_;
  std::shared_ptr<Tokenizer> tokenizer_;
};

}  // namespace quench
