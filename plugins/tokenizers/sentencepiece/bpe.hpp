// The BPE model of SentencePiece: neighbours whose strings together are a piece merge, the piece of
// the highest score first, the leftmost of equals.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizers/sentencepiece/model_file.hpp"
#include "tokenizers/shared/cached_words.hpp"
#include "tokenizers/shared/merge_table.hpp"

namespace quench::tokenizers {

class SentencePieceBpe {
 public:
  // `name` begins the messages. Throws Error(UNSUPPORTED) for an unused piece that can be made in
  // two ways: which of them it falls apart into would depend on the rest of the text.
  SentencePieceBpe(const SentencePieceFile& file, const std::string& name);

  // Appends the ids of a stretch of text that holds nothing that the user defined. Characters
  // without a piece are spelled in bytes, or become unknown ids, one each. Thread-safe.
  void encode(std::string_view text, std::vector<int32_t>& ids) const;

 private:
  // While merging, a string is a symbol: the id of its piece, or for a character without one its
  // code point above kCharacters.
  static constexpr int32_t kCharacters = 1 << 24;

  struct Parts {
    int32_t left = -1;
    int32_t right = -1;
  };
  using Symbols = std::unordered_map<std::string_view, int32_t>;

  void read_merges(const SentencePieceFile& file, const Symbols& symbols, const std::string& name);
  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;
  int32_t character(std::string_view text, size_t& at) const;
  void append(int32_t symbol, std::vector<int32_t>& ids) const;

  MergeTable merges_{0};
  std::array<int32_t, 128> ascii_{};
  std::unordered_map<char32_t, int32_t> beyond_ascii_;
  std::unordered_map<int32_t, Parts> unused_;  // what they fall apart into
  std::vector<int32_t> byte_ids_;              // [256], or empty
  int32_t unknown_;
  bool marks_begin_words_ = true;
  CachedWords words_;
};

}  // namespace quench::tokenizers
