// Turns text into token ids: by a plugin that reads a file, or byte by byte.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/plugin/handles/tokenizer_handle.hpp"

namespace quench {

// What tells a tokenizer from another one: what its file holds, and which plugin reads it.
struct TokenizerIdentity {
  std::string file;                           // SHA-256 of its content, "bytes" or "none"
  const PluginDescription* plugin = nullptr;  // valid as long as the catalog; none for "bytes"

  // One line, for keys of what depends on nothing else of it.
  std::string key() const;
};

class Tokenizer {
 public:
  // Passes the file to the plugin with the best score for it. Throws what choose_tokenizer_plugin,
  // File and the plugin throw, and UNSUPPORTED if tokenizer_config.json has other added tokens.
  static Tokenizer open(Catalog& catalog, const std::filesystem::path& file);
  // The same with a file inside another one; messages show `where` instead of a path.
  static Tokenizer open(Catalog& catalog, const CarriedFile& file, const std::string& where);
  // 256 ids, each the value of a byte; accepts any bytes. Users spell it "bytes".
  static Tokenizer bytes() { return Tokenizer(std::nullopt, {"bytes", nullptr}); }

  // The identity of the file that was read.
  const TokenizerIdentity& identity() const { return identity_; }

  // The ids of every document. Always finds special tokens in the text; `add_special` adds those
  // that the file puts around a text. Throws Error naming the first document that cannot be
  // encoded, counted from 0, and the offset of the byte; with `add_special` UNSUPPORTED where
  // tokenizer_config.json beside the file says of begin and end what the file does not do.
  EncodedBatch encode(const TextBatch& batch, bool add_special);
  // The ids of one text; messages name no document.
  std::vector<int32_t> encode(std::string_view text, bool add_special);

  // The largest id plus one.
  uint64_t vocabulary_size() const;

 private:
  Tokenizer(std::optional<TokenizerHandle> handle, TokenizerIdentity identity)
      : handle_(std::move(handle)), identity_(std::move(identity)) {}

  void compare_with(const std::filesystem::path& config);
  std::optional<int32_t> single_id(const std::string& token);

  std::optional<TokenizerHandle> handle_;  // empty: bytes
  TokenizerIdentity identity_;
  std::string doubt_;  // why no special tokens can be added; empty: they can
};

// What a user writes for a tokenizer: a path, "bytes", hf://..., or ID:PATH, which names the plugin
// that reads it.
struct WrittenTokenizer {
  std::string path;
  const PluginDescription* plugin = nullptr;  // nullptr: the one with the best score
};
// `folder`: what paths are relative to. Throws Error(NOT_FOUND) for an id that no tokenizer has.
WrittenTokenizer read_tokenizer_name(const Catalog& catalog, const std::string& written,
                                     const std::filesystem::path& folder = {});
// The file of it, which from now on that plugin reads: see tokenizer_file, and "bytes" as it is.
std::string take_tokenizer(Catalog& catalog, const WrittenTokenizer& written,
                           const std::filesystem::path& folder = {});

// The tokenizer file for a path: in a folder, the file that find_tokenizer_file() finds, else
// Error(NOT_FOUND); any other path is the file itself.
std::filesystem::path tokenizer_file(Catalog& catalog, const std::filesystem::path& path);

// The tokenizer that turns text into ids: one for the whole run, or each checkpoint's
// own.
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
