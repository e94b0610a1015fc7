#include "core/arithmetic/corpus_pieces.hpp"

#include <cmath>

namespace quench {

uint64_t end_of_piece(std::string_view text, uint64_t begin) {
  if (text.size() - begin <= kPieceBytes) {
    return text.size();
  }
  const size_t line = text.rfind('\n', begin + kPieceBytes - 1);
  if (line != std::string_view::npos && line >= begin) {
    return line + 1;
  }
  uint64_t end = begin + kPieceBytes;
  while (end > begin + 1 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return end;
}

bool is_held_out(uint64_t document_hash, double share) {
  return std::ldexp(static_cast<double>(document_hash), -64) < share;
}

}  // namespace quench
