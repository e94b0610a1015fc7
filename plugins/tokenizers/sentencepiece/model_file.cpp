// Field numbers and defaults are those of sentencepiece_model.proto.
#include "tokenizers/sentencepiece/model_file.hpp"

#include <cmath>
#include <unordered_set>

#include "tokenizers/sentencepiece/wire_reader.hpp"
#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

namespace {

struct Draft {
  SentencePieceFile file;
  std::string begin_of_text;
  uint64_t kind = 1;
};

PieceType piece_type(WireReader& reader) {
  const uint64_t type = reader.varint();
  if (type < 1 || type > 6) {
    reader.reject("piece type {}, wanted 1 to 6", type);
  }
  return static_cast<PieceType>(type);
}

SentencePiece read_piece(WireReader reader, size_t id) {
  SentencePiece piece;
  while (const uint32_t field = reader.next()) {
    switch (field) {
      case 1:
        piece.text = reader.bytes();
        break;
      case 2:
        piece.score = reader.float32();
        break;
      case 3:
        piece.type = piece_type(reader);
        break;
      default:
        reader.skip();
    }
  }
  if (piece.text.empty() || piece.text.size() > kPieceLimitBytes) {
    reader.reject("piece {}: wanted 1 to {} bytes, got {}", id, kPieceLimitBytes,
                  piece.text.size());
  }
  if (piece.text.find('\0') != std::string::npos) {
    reader.reject("piece {}: \"{}\" has a NUL; the byte 0 is spelled <0x00>", id,
                  printable(piece.text, 40));
  }
  if (first_invalid_utf8(piece.text) != std::string_view::npos) {
    reader.reject("piece {}: \"{}\" is not UTF-8", id, printable(piece.text, 40));
  }
  if (!std::isfinite(piece.score)) {
    reader.reject("piece {}: \"{}\" has the score {}, wanted a finite one", id,
                  printable(piece.text, 40), piece.score);
  }
  return piece;
}

void read_trainer(WireReader reader, Draft& draft) {
  while (const uint32_t field = reader.next()) {
    switch (field) {
      case 3:
        draft.kind = reader.varint();
        break;
      case 24:
        draft.file.whitespace_as_suffix = reader.boolean();
        break;
      case 35:
        draft.file.byte_fallback = reader.boolean();
        break;
      case 46:
        draft.begin_of_text = reader.bytes();
        break;
      default:
        reader.skip();
    }
  }
}

void read_normalizer(WireReader reader, SentencePieceFile& file) {
  while (const uint32_t field = reader.next()) {
    switch (field) {
      case 2:
        file.charsmap = reader.bytes();
        break;
      case 3:
        file.add_dummy_prefix = reader.boolean();
        break;
      case 4:
        file.remove_extra_whitespaces = reader.boolean();
        break;
      case 5:
        file.escape_whitespaces = reader.boolean();
        break;
      default:
        reader.skip();
    }
  }
}

// The value of "<0x41>", or -1.
int byte_value(std::string_view piece) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>' ||
      digit(piece[3]) < 0 || digit(piece[4]) < 0) {
    return -1;
  }
  return digit(piece[3]) * 16 + digit(piece[4]);
}

void check_bytes(SentencePieceFile& file, const std::string& name) {
  std::vector<int32_t> ids(256, -1);
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const SentencePiece& piece = file.pieces[id];
    if (piece.type != PieceType::byte) {
      continue;
    }
    const int value = byte_value(piece.text);
    if (value < 0 || !file.byte_fallback) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: piece {}: \"{}\" is a byte, {}", name, id,
           printable(piece.text, 40),
           value < 0 ? "wanted <0x00> to <0xFF>" : "but byte_fallback is false");
    }
    ids[static_cast<size_t>(value)] = static_cast<int32_t>(id);
  }
  if (!file.byte_fallback) {
    return;
  }
  for (size_t byte = 0; byte < ids.size(); ++byte) {
    if (ids[byte] < 0) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: byte_fallback is true, but there is no piece <0x{:02X}>",
           name, byte);
    }
  }
  file.byte_ids = std::move(ids);
}

// As the reference has it, a text may be one piece of those found in text and one of the others.
void check_pieces(const Draft& draft, SentencePieceFile& file, const std::string& name) {
  if (file.pieces.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no pieces", name);
  }
  std::unordered_set<std::string_view> found;
  std::unordered_set<std::string_view> reserved;
  const std::string begin = draft.begin_of_text.empty() ? "<s>" : draft.begin_of_text;
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const SentencePiece& piece = file.pieces[id];
    if (!(piece.in_text() ? found : reserved).insert(piece.text).second) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: piece {}: \"{}\" is there twice", name, id,
           printable(piece.text, 40));
    }
    if (piece.type == PieceType::unknown) {
      if (file.unknown >= 0) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: pieces {} and {} are both the unknown one", name,
             file.unknown, id);
      }
      file.unknown = static_cast<int32_t>(id);
    }
    if (piece.type == PieceType::control && piece.text == begin) {
      file.begin_of_text = static_cast<int32_t>(id);
    }
  }
  if (file.unknown < 0) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no piece is the unknown one", name);
  }
  if (found.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no piece can be found in text", name);
  }
}

// Lines like "IQ== 0": the other thing that is called tokenizer.model.
bool is_tiktoken(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.substr(0, 256).find('\n'));
  const size_t space = line.find(' ');
  const auto all = [](std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
  };
  return space != std::string_view::npos &&
         all(line.substr(0, space),
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") &&
         all(line.substr(space + 1), "0123456789");
}

}  // namespace

SentencePieceFile read_sentencepiece_file(std::string_view bytes, const std::string& name) {
  if (bytes.size() > kSentencePieceFileLimitBytes) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: {} bytes, wanted at most {}", name, bytes.size(),
         kSentencePieceFileLimitBytes);
  }
  if (is_tiktoken(bytes)) {
    fail(QUENCH_UNSUPPORTED,
         "{}: a tiktoken vocabulary, not a SentencePiece model: name a tokenizer.json instead",
         name);
  }
  Draft draft;
  WireReader reader(bytes, name);
  while (const uint32_t field = reader.next()) {
    switch (field) {
      case 1:
        draft.file.pieces.push_back(read_piece(reader.message(), draft.file.pieces.size()));
        break;
      case 2:
        read_trainer(reader.message(), draft);
        break;
      case 3:
        read_normalizer(reader.message(), draft.file);
        break;
      default:
        reader.skip();
    }
  }
  if (draft.kind != 1 && draft.kind != 2) {
    fail(QUENCH_UNSUPPORTED, "{}: model type {} is not supported; supported: unigram (1), bpe (2)",
         name,
         draft.kind == 3   ? "word"
         : draft.kind == 4 ? "char"
                           : std::to_string(draft.kind));
  }
  draft.file.kind = static_cast<SentencePieceKind>(draft.kind);
  SentencePieceFile file = std::move(draft.file);
  check_pieces(draft, file, name);
  check_bytes(file, name);
  return file;
}

}  // namespace quench::tokenizers
