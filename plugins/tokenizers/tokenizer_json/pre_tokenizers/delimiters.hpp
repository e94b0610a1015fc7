// What becomes of the matches of a splitting pattern and of the text between them.
#pragma once

#include <vector>

#include "tokenizers/tokenizer_json/entry.hpp"
#include "tokenizers/tokenizer_json/pattern.hpp"
#include "tokenizers/tokenizer_json/piece.hpp"

namespace quench::tokenizers {

enum class Delimiters {
  removed,               // dropped
  isolated,              // pieces of their own
  contiguous,            // adjacent ones form one piece
  merged_with_previous,  // the end of the piece before
  merged_with_next,      // the beginning of the piece after
};

// From "Removed", "Isolated", "Contiguous", "MergedWithPrevious" or "MergedWithNext".
Delimiters parse_delimiters(const Entry& entry);

// Appends the parts of `piece`. `matches` are in order and do not overlap; with `invert` the text
// between them takes their role.
void cut(const Piece& piece, const std::vector<Match>& matches, Delimiters delimiters, bool invert,
         std::vector<Piece>& out);

}  // namespace quench::tokenizers
