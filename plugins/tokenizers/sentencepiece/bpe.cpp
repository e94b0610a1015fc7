#include "tokenizers/sentencepiece/bpe.hpp"

#include <algorithm>

#include "tokenizers/shared/merging.hpp"
#include "tokenizers/shared/message.hpp"
#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

SentencePieceBpe::SentencePieceBpe(const SentencePieceFile& file, const std::string& name)
    : byte_ids_(file.byte_ids), unknown_(file.unknown) {
  for (size_t code = 0; code < ascii_.size(); ++code) {
    ascii_[code] = kCharacters + static_cast<int32_t>(code);
  }
  Symbols symbols;
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const SentencePiece& piece = file.pieces[id];
    // What the user defined is found before and merges with nothing.
    if (!piece.in_text() || piece.type == PieceType::user_defined) {
      continue;
    }
    symbols.emplace(piece.text, static_cast<int32_t>(id));
    size_t at = 0;
    const char32_t code = decode(piece.text, at);
    if (at < piece.text.size()) {
      continue;
    }
    if (code < 128) {
      ascii_[code] = static_cast<int32_t>(id);
    } else {
      beyond_ascii_.emplace(code, static_cast<int32_t>(id));
    }
  }
  read_merges(file, symbols, name);
}

void SentencePieceBpe::read_merges(const SentencePieceFile& file, const Symbols& symbols,
                                   const std::string& name) {
  struct Found {
    float score;
    int32_t whole;
    Parts parts;
  };
  std::vector<Found> found;
  const auto symbol_of = [&](std::string_view text) {
    const auto known = symbols.find(text);
    if (known != symbols.end()) {
      return known->second;
    }
    size_t at = 0;
    const auto code = static_cast<int32_t>(decode(text, at));
    return at == text.size() ? kCharacters + code : -1;
  };
  for (const auto& [text, id] : symbols) {
    const SentencePiece& piece = file.pieces[static_cast<size_t>(id)];
    marks_begin_words_ = marks_begin_words_ && !has_inner_mark(text);
    for (size_t cut = sequence_length(text[0]); cut < text.size();
         cut += sequence_length(text[cut])) {
      const Parts parts{symbol_of(text.substr(0, cut)), symbol_of(text.substr(cut))};
      if (parts.left < 0 || parts.right < 0) {
        continue;
      }
      found.push_back({piece.score, id, parts});
      if (piece.type == PieceType::unused && !unused_.emplace(id, parts).second) {
        fail(QUENCH_UNSUPPORTED,
             "{}: piece {}: \"{}\" is of type unused and can be merged in more than one way, which "
             "is not supported",
             name, id, printable(text, 40));
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.score > b.score; });
  merges_ = MergeTable(found.size());
  // Pieces of one score have one rank, so that their places in the text decide.
  uint32_t rank = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    rank += i > 0 && found[i].score != found[i - 1].score ? 1 : 0;
    merges_.insert(found[i].parts.left, found[i].parts.right, {rank, found[i].whole});
  }
}

void SentencePieceBpe::encode(std::string_view text, std::vector<int32_t>& ids) const {
  const auto encode_one = [&](std::string_view one) {
    words_.encode(one, ids, [this](std::string_view word, std::vector<int32_t>& out) {
      encode_word(word, out);
    });
  };
  if (marks_begin_words_) {
    cut_before_marks(text, encode_one);
  } else {
    encode_one(text);
  }
}

int32_t SentencePieceBpe::character(std::string_view text, size_t& at) const {
  const char32_t code = decode(text, at);
  if (code < 128) {
    return ascii_[code];
  }
  const auto known = beyond_ascii_.find(code);
  return known == beyond_ascii_.end() ? kCharacters + static_cast<int32_t>(code) : known->second;
}

void SentencePieceBpe::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  std::vector<int32_t> symbols;
  symbols.reserve(word.size());
  for (size_t at = 0; at < word.size();) {
    symbols.push_back(character(word, at));
  }
  merge_all(merges_, symbols);
  for (const int32_t symbol : symbols) {
    append(symbol, ids);
  }
}

void SentencePieceBpe::append(int32_t symbol, std::vector<int32_t>& ids) const {
  if (symbol < kCharacters) {
    const auto unused = unused_.find(symbol);
    if (unused == unused_.end()) {
      ids.push_back(symbol);
    } else {
      append(unused->second.left, ids);
      append(unused->second.right, ids);
    }
    return;
  }
  if (byte_ids_.empty()) {
    ids.push_back(unknown_);
    return;
  }
  std::string bytes;
  append_utf8(static_cast<char32_t>(symbol - kCharacters), bytes);
  for (const char byte : bytes) {
    ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  }
}

}  // namespace quench::tokenizers
