#include "tokenizers/tokenizer_json/models/bpe.hpp"

#include "tokenizers/shared/merging.hpp"
#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/byte_alphabet.hpp"

namespace quench::tokenizers {

Bpe::Bpe(BpeParts parts, bool byte_level) : parts_(std::move(parts)), byte_level_(byte_level) {
  const auto id_or_none = [&](const std::string& token) { return id_of(token).value_or(-1); };
  for (size_t byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    fallback_ids_[byte] = id_or_none(fmt::format("<0x{:02X}>", value));
    byte_ids_[byte] = byte_level   ? id_or_none(byte_character(value))
                      : byte < 128 ? id_or_none(std::string(1, static_cast<char>(value)))
                                   : -1;
  }
  if (byte_level_ && parts_.ignore_merges) {
    for (const auto& [token, id] : parts_.vocabulary) {
      if (auto bytes = bytes_of(token)) {
        words_by_bytes_.emplace(std::move(*bytes), id);
      }
    }
  }
}

std::optional<int32_t> Bpe::id_of(std::string_view token) const {
  const auto found = parts_.vocabulary.find(token);
  return found == parts_.vocabulary.end() ? std::nullopt : std::optional(found->second);
}

bool Bpe::has_id(int32_t id) const {
  return static_cast<size_t>(id) < parts_.used.size() && parts_.used[static_cast<size_t>(id)];
}

void Bpe::encode(std::string_view word, std::vector<int32_t>& ids) const {
  const auto encode_one = [&](std::string_view one) {
    words_.encode(one, ids, [this](std::string_view text, std::vector<int32_t>& out) {
      encode_word(text, out);
    });
  };
  if (byte_level_ || !parts_.marks_begin_words || parts_.ignore_merges) {
    encode_one(word);
  } else {
    // Whole texts come as one word here.
    cut_before_marks(word, encode_one);
  }
}

std::optional<int32_t> Bpe::whole_word(std::string_view word) const {
  const Vocabulary& words = byte_level_ ? words_by_bytes_ : parts_.vocabulary;
  const auto found = words.find(word);
  return found == words.end() ? std::nullopt : std::optional(found->second);
}

void Bpe::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  if (parts_.ignore_merges) {
    if (const auto id = whole_word(word)) {
      ids.push_back(*id);
      return;
    }
  }
  std::vector<int32_t> symbols;
  split_characters(word, symbols);
  merge_all(parts_.merges, symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void Bpe::split_characters(std::string_view word, std::vector<int32_t>& ids) const {
  ids.reserve(word.size());
  Unknowns unknowns;
  for (size_t i = 0; i < word.size();) {
    const auto byte = static_cast<unsigned char>(word[i]);
    const size_t length = byte_level_ ? 1 : sequence_length(word[i]);
    int32_t id = byte_ids_[byte];
    if (length > 1) {
      id = id_of(word.substr(i, length)).value_or(-1);
    }
    if (id >= 0) {
      if (unknowns.pending) {
        ids.push_back(*parts_.unknown);
        unknowns.pending = false;
      }
      ids.push_back(id);
    } else if (byte_level_) {
      missing_character(byte_character(byte), unknowns, ids);
    } else {
      missing_character(word.substr(i, length), unknowns, ids);
    }
    i += length;
  }
  if (unknowns.pending) {
    ids.push_back(*parts_.unknown);
  }
}

// Its bytes where all have entries, else the unknown token, else nothing. An unknown waits for the
// next character that has an entry, so bytes overtake it, as they do in the reference.
void Bpe::missing_character(std::string_view character, Unknowns& unknowns,
                            std::vector<int32_t>& ids) const {
  if (parts_.byte_fallback) {
    bool complete = true;
    for (const char c : character) {
      complete = complete && fallback_ids_[static_cast<unsigned char>(c)] >= 0;
    }
    if (complete) {
      for (const char c : character) {
        ids.push_back(fallback_ids_[static_cast<unsigned char>(c)]);
      }
      return;
    }
  }
  if (parts_.unknown) {
    if (unknowns.pending && !parts_.fuse_unknown) {
      ids.push_back(*parts_.unknown);
    }
    unknowns.pending = true;
  }
}

std::unique_ptr<Model> make_bpe(const Entry& entry, bool byte_level) {
  return std::make_unique<Bpe>(read_bpe(entry), byte_level);
}

}  // namespace quench::tokenizers
