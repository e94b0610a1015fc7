// What SentencePiece makes of a text before it is cut into pieces.
#pragma once

#include <string>
#include <string_view>

#include "tokenizers/sentencepiece/charsmap.hpp"
#include "tokenizers/sentencepiece/model_file.hpp"
#include "tokenizers/sentencepiece/prefix_trie.hpp"

namespace quench::tokenizers {

class TextForm {
 public:
  // `user_defined` must outlive it: those strings are copied as they stand. `name` begins the
  // messages.
  TextForm(const SentencePieceFile& file, const PrefixTrie& user_defined, const std::string& name);

  // Characters rewritten, spaces reduced and made visible, the dummy prefix added; "" for a text of
  // which nothing is left. `text` is valid UTF-8, and so is the result. Thread-safe. Throws
  // Error(RESOURCE_EXHAUSTED) when it would have more than 4 GiB.
  std::string apply(std::string_view text) const;

 private:
  struct Step {
    std::string_view out;
    size_t length;  // of what it stands for
  };
  Step step(std::string_view text) const;
  bool is_plain() const;
  std::string apply_plain(std::string_view text) const;
  void append(std::string_view part, std::string& out) const;

  const PrefixTrie& user_defined_;
  Charsmap charsmap_;
  std::string_view space_;  // what a space becomes
  bool prefix_;
  bool suffix_;
  bool reduce_;
};

}  // namespace quench::tokenizers
