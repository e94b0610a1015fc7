// Text to token ids: what a plugin makes of a file, or bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/tokenizer_handle.hpp"

namespace quench {

class Tokenizer {
 public:
  // Reads the file and hands it to the plugin that likes it best. Throws what
  // choose_tokenizer_plugin, File and the plugin throw.
  static Tokenizer open(Catalog& catalog, const std::filesystem::path& file);
  // 256 ids, each the value of a byte; any bytes are text to it. Users spell it "bytes".
  static Tokenizer bytes() { return Tokenizer(std::nullopt); }

  // The ids of every document. Special tokens that stand in a text are always found; with
  // `add_special` those that the file puts around a text are added. Throws Error with the first
  // document that cannot be encoded, from 0, and the offset of the byte.
  EncodedBatch encode(const TextBatch& batch, bool add_special);
  // Of one text; messages name no document.
  std::vector<int32_t> encode(std::string_view text, bool add_special);

  // One more than the largest id.
  uint64_t vocabulary_size() const;

 private:
  explicit Tokenizer(std::optional<TokenizerHandle> handle) : handle_(std::move(handle)) {}

  std::optional<TokenizerHandle> handle_;  // nothing: bytes
};

// The tokenizer that a path means: of a folder the file that find_tokenizer_file() finds, else
// Error(NOT_FOUND); every other path is the file itself.
std::filesystem::path tokenizer_file(Catalog& catalog, const std::filesystem::path& path);

}  // namespace quench
