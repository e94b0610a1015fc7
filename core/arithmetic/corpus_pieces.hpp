// Where documents are cut, and which pieces are held out of a training.
#pragma once

#include <cstdint>
#include <string_view>

namespace quench {

inline constexpr uint64_t kPieceBytes = 16384;
inline constexpr uint64_t kPieceIds = 4096;

// Where the piece of `text` that begins at `begin` ends: behind the last line break that fits, else
// in front of a character that does not.
uint64_t end_of_piece(std::string_view text, uint64_t begin);

// Whether a document is held out: the first 64 bits of its hash, as a share of 2⁶⁴, are below
// `share`.
bool is_held_out(uint64_t document_hash, double share);

}  // namespace quench
