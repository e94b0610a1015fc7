// The components of a tokenizer.json, in the order in which text passes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quench/kit/tokenizer.hpp"
#include "tokenizers/tokenizer_json/added_tokens.hpp"
#include "tokenizers/tokenizer_json/models/model.hpp"
#include "tokenizers/tokenizer_json/normalizers/normalizer.hpp"
#include "tokenizers/tokenizer_json/piece.hpp"
#include "tokenizers/tokenizer_json/post_processors/post_processor.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/pre_tokenizer.hpp"

namespace quench::tokenizers {

// What of the file is not read, and why, is in known_members.cpp.
class JsonPipeline : public kit::Tokenizer {
 public:
  // `file` is the whole text; `name` stands for it in messages. Throws Error, which names the
  // entry that cannot be used.
  JsonPipeline(std::string_view file, const std::string& name);

  // Special tokens that stand in the text are always found; with `add_special` the post-processor's
  // are put around it.
  std::vector<int32_t> encode(std::string_view text, bool add_special) const override;
  size_t vocabulary_size() const override { return static_cast<size_t>(id_count_); }

 private:
  void read(const Entry& root);
  void read_added_tokens(const Entry& list);
  // `text` is not empty.
  void encode_stretch(std::string_view text, bool at_start, std::vector<int32_t>& ids) const;
  void encode_words(const Piece& piece, std::vector<int32_t>& ids) const;

  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<Model> model_;
  AddedTokenMatcher verbatim_;
  AddedTokenMatcher normalized_;
  Frame frame_;
  int32_t id_count_ = 0;
};

}  // namespace quench::tokenizers
