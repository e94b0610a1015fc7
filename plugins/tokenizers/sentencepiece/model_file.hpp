// A tokenizer.model as it lies on disk: SentencePiece's ModelProto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quench::tokenizers {

enum class PieceType : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,  // <s> and its like: never found in text
  user_defined = 4,
  unused = 5,
  byte = 6,
};

struct SentencePiece {
  std::string text;  // UTF-8, not empty, without NUL
  float score = 0;   // finite
  PieceType type = PieceType::normal;
  // May be found in text: normal, user_defined or unused.
  bool in_text() const {
    return type == PieceType::normal || type == PieceType::user_defined ||
           type == PieceType::unused;
  }
};

enum class SentencePieceKind : uint8_t { unigram = 1, bpe = 2 };

struct SentencePieceFile {
  std::vector<SentencePiece> pieces;  // the id of a piece is its index
  SentencePieceKind kind = SentencePieceKind::unigram;
  int32_t unknown = -1;           // id of the one piece of that type
  int32_t begin_of_text = -1;     // id of the control piece that opens a text, or -1
  bool byte_fallback = false;     // then all 256 pieces <0x00> to <0xFF> are there
  std::vector<int32_t> byte_ids;  // [256] with byte_fallback, else empty
  bool whitespace_as_suffix = false;
  // What happens to a text before it is cut.
  std::string charsmap;  // precompiled; "" for none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// At most this much of a file is read. The largest in use, of a million pieces, has about 20 MB.
inline constexpr size_t kSentencePieceFileLimitBytes = size_t{1} << 26;
// Longer pieces are refused: trainers write up to 16 characters, some files runs of 31 spaces.
inline constexpr size_t kPieceLimitBytes = 512;

// Reads and checks all of it. `name` stands for the file in messages. Throws Error:
// INVALID_ARGUMENT for a file that is broken, UNSUPPORTED for one of another kind.
SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string& name);

}  // namespace quench::tokenizers
