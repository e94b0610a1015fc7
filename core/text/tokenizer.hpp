// Text to token ids, as a tokenizer.json says (added tokens, normalizer, pre-tokenizer, model,
// post-processor), or a tokenizer.model of SentencePiece. A component that is not known is an
// error; nothing is approximated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quench::text {

// Cheap to copy; copies share what they read. All of it is thread-safe.
//
// "truncation" and "padding" of the file are settings of calls, and "decoder" is for the way back:
// none of them is read.
class Tokenizer {
 public:
  // A tokenizer.json, or where the name ends in ".model" a SentencePiece model. Throws Error, which
  // names the file and the entry, when the file cannot be used.
  static Tokenizer from_file(const std::filesystem::path& path);
  // `name` stands for the file in messages.
  static Tokenizer from_json(std::string_view text, const std::string& name);
  // The ids of SentencePiece's own encoder: control pieces that stand in a text are ordinary text.
  // The only special token is the one that opens a text (<s>), where the file has one.
  static Tokenizer from_sentencepiece(std::string_view bytes, const std::string& name);
  // 256 ids, each the value of a byte; any bytes are text to it. Callers spell it "bytes".
  static Tokenizer bytes();

  // The ids of a text, in order. Special tokens that stand in the text are always found; with
  // `add_special_tokens` the post-processor's are put around it. Throws Error, which names the
  // offset, when the text is not UTF-8, and when it is longer than 1 GiB.
  std::vector<int32_t> encode(std::string_view utf8, bool add_special_tokens) const;

  // One more than the largest id, added tokens included.
  size_t vocabulary_size() const;

  class Pipeline;

 private:
  explicit Tokenizer(std::shared_ptr<const Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}

  std::shared_ptr<const Pipeline> pipeline_;
};

// The tokenizer that a path means: of a folder its tokenizer.json, else its tokenizer.model, else
// (for the message of who opens it) the former; every other path is the file itself.
std::filesystem::path tokenizer_file(const std::filesystem::path& path);

}  // namespace quench::text
