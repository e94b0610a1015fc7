// Pre-tokenizers cut text into the words that the model sees one by one.
#pragma once

#include <memory>

#include "tokenizers/tokenizer_json/entry.hpp"
#include "tokenizers/tokenizer_json/piece.hpp"

namespace quench::tokenizers {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces the pieces by smaller ones, in the same order. Thread-safe.
  virtual void split(Pieces& pieces) const = 0;
  // Whether the model is to read the pieces byte by byte, in the alphabet of byte_alphabet.hpp.
  virtual bool byte_level() const { return false; }
};

// By "type"; an unknown one is an error that names it.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Entry& entry, int depth = 0);

std::unique_ptr<PreTokenizer> make_byte_level(const Entry& entry);
std::unique_ptr<PreTokenizer> make_split(const Entry& entry);
std::unique_ptr<PreTokenizer> make_metaspace(const Entry& entry);
std::unique_ptr<PreTokenizer> make_digits(const Entry& entry);

}  // namespace quench::tokenizers
