// The unigram model of SentencePiece: the pieces whose scores add up to the most.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/sentencepiece/model_file.hpp"
#include "tokenizers/sentencepiece/prefix_trie.hpp"

namespace quench::tokenizers {

class SentencePieceUnigram {
 public:
  explicit SentencePieceUnigram(const SentencePieceFile& file);

  // Appends what `text`, which is in form, is cut into: each piece by its id and its beginning, a
  // character without a piece as the unknown one. Thread-safe. Throws Error(RESOURCE_EXHAUSTED)
  // when the text has more than 256 MiB.
  struct Cut {
    int32_t id;
    uint32_t begin;
  };
  void cut(std::string_view text, std::vector<Cut>& cuts) const;

 private:
  struct Score {
    float score;
    PieceType type;
  };

  PrefixTrie trie_;
  std::vector<Score> scores_;  // by id
  float highest_;
  float unknown_score_;
  int32_t unknown_;
};

}  // namespace quench::tokenizers
