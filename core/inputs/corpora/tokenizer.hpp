// Turns text into token ids: by a plugin that reads a file, or byte by byte.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
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
  // Reads the file once and passes it to the plugin with the best score for it. Throws what
  // choose_tokenizer_plugin, File and the plugin throw.
  static Tokenizer open(Catalog& catalog, const std::filesystem::path& file);
  // The same with a file inside another one; messages show `where` instead of a path.
  static Tokenizer open(Catalog& catalog, const CarriedFile& file, const std::string& where);
  // 256 ids, each the value of a byte; accepts any bytes. Users spell it "bytes".
  static Tokenizer bytes() { return Tokenizer(std::nullopt, {"bytes", nullptr}); }

  // The identity of the file that was read.
  const TokenizerIdentity& identity() const { return identity_; }

  // The ids of every document. Always finds special tokens in the text; `add_special` adds those
  // that the file puts around a text. Throws Error naming the first document that cannot be
  // encoded, counted from 0, and the offset of the byte.
  EncodedBatch encode(const TextBatch& batch, bool add_special);
  // The ids of one text; messages name no document.
  std::vector<int32_t> encode(std::string_view text, bool add_special);

  // The largest id plus one.
  uint64_t vocabulary_size() const;

 private:
  Tokenizer(std::optional<TokenizerHandle> handle, TokenizerIdentity identity)
      : handle_(std::move(handle)), identity_(std::move(identity)) {}

  std::optional<TokenizerHandle> handle_;  // empty: bytes
  TokenizerIdentity identity_;
};

// The tokenizer file for a path: in a folder, the file that find_tokenizer_file() finds, else
// Error(NOT_FOUND); any other path is the file itself.
std::filesystem::path tokenizer_file(Catalog& catalog, const std::filesystem::path& path);

}  // namespace quench
