// What flows from the normalizer through the pre-tokenizers to the model.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace quench::text {

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

  std::string_view store(std::string text) { return storage.emplace_back(std::move(text)); }
};

}  // namespace quench::text
