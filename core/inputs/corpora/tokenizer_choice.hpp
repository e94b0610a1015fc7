// The tokenizer that turns text into ids: one for the whole run, or each checkpoint's
// own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/inputs/corpora/tokenizer.hpp"

namespace quench {

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
  // Throws Error: with the constructor's message if there is no tokenizer; UNAVAILABLE if what is
  // read is not what identity() said.
  Tokenizer& get(Catalog& catalog);
  // Hashes the file at the first call. A carried one counts as the file that it would be.
  const TokenizerIdentity& identity(Catalog& catalog);
  // The keys have it already.
  void set_identity(TokenizerIdentity identity) { identity_ = std::move(identity); }

 private:
  Tokenizer open(Catalog& catalog) const;
  TokenizerIdentity measured(Catalog& catalog) const;

  std::optional<std::string> path_;
  std::optional<CarriedFile> carried_;  // used where there is no path
  std::string carried_where_;           // for messages
  std::string missing_message_;
  std::shared_ptr<Tokenizer> tokenizer_;
  std::optional<TokenizerIdentity> identity_;
};

}  // namespace quench
