// GPT-2's pattern, by hand:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
#pragma once

#include <cstddef>
#include <string_view>

namespace quench::tokenizers {

// The end of the match that begins at `begin` (< text.size(); valid UTF-8). The pattern matches
// something everywhere, so successive calls cut the whole text.
size_t next_gpt2_word(std::string_view text, size_t begin);

}  // namespace quench::tokenizers
