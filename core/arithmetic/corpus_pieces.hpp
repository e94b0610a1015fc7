// Decides where documents are cut, and which pieces are held out of a training.
#pragma once

#include <cstdint>
#include <string_view>

namespace quench {

inline constexpr uint64_t kPieceBytes = 16384;
inline constexpr uint64_t kPieceIds = 4096;

// The end of the piece of `text` that starts at `begin`: after the last line break that fits, else
// before a character that does not.
uint64_t end_of_piece(std::string_view text, uint64_t begin);

// Whether a document is held out: the first 64 bits of its hash, divided by 2⁶⁴, are below
// `share`.
bool is_held_out(uint64_t document_hash, double share);

}  // namespace quench
