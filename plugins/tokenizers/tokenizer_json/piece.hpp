// What flows from the normalizer through the pre-tokenizers to the model.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer_json/limits.hpp"

namespace quench::tokenizers {

// A non-empty part of the text, valid UTF-8.
struct Piece {
  std::string_view text;
  // Whether it begins where the whole text begins (Metaspace's "first" asks).
  bool at_start = false;
};

// The pieces of one stretch of text, and the memory of those that are not views of it.
struct Pieces {
  std::vector<Piece> list;
  std::deque<std::string> storage;
  size_t stored = 0;               // bytes in it
  size_t limit = kTextLimitBytes;  // of that

  std::string_view store(std::string text) {
    stored += text.size();
    check_rewritten(stored, limit);
    return storage.emplace_back(std::move(text));
  }
};

}  // namespace quench::tokenizers
