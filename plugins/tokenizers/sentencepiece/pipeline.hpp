// A tokenizer.model of SentencePiece, ready to encode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quench/kit/tokenizer.hpp"
#include "tokenizers/sentencepiece/bpe.hpp"
#include "tokenizers/sentencepiece/text_form.hpp"
#include "tokenizers/sentencepiece/unigram.hpp"

namespace quench::tokenizers {

// The ids of SentencePiece's own encoder: control pieces that stand in a text are ordinary text.
// The only special token is the one that opens a text (<s>), where the file has one.
class SentencePiecePipeline : public kit::Tokenizer {
 public:
  // `bytes` is the whole file, `name` stands for it in messages. Throws Error.
  SentencePiecePipeline(std::string_view bytes, const std::string& name);

  std::vector<int32_t> encode(std::string_view text, bool add_special) const override;
  size_t vocabulary_size() const override { return pieces_; }

 private:
  SentencePiecePipeline(const SentencePieceFile& file, const std::string& name);
  void merge_pieces(std::string_view text, std::vector<int32_t>& ids) const;
  void cut_pieces(std::string_view text, std::vector<int32_t>& ids) const;
  void fuse_unknown(std::vector<int32_t>& ids) const;

  PrefixTrie user_defined_;
  TextForm form_;
  std::optional<SentencePieceBpe> bpe_;
  std::optional<SentencePieceUnigram> unigram_;
  std::vector<int32_t> byte_ids_;
  size_t pieces_;
  int32_t unknown_;
  int32_t begin_of_text_;
};

}  // namespace quench::tokenizers
