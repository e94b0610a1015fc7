// What flows from the normalizer through the pre-tokenizers to the model.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer_json/limits.hpp"

namespace quench::tokenizers {

// A non-empty part of the text, valid UTF-8.
struct Piece {
  std::string_view text;
  // Of its bytes, these come from the first character of the whole text (Metaspace's "first" asks
  // whether a piece begins there).
  size_t from_first = 0;

  Piece part(size_t begin, size_t end) const {
    return {text.substr(begin, end - begin),
            std::min(from_first, end) - std::min(from_first, begin)};
  }
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
