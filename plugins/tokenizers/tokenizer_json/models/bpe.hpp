// Byte-pair encoding as tokenizer.json describes it.
#pragma once

#include <array>
#include <string>
#include <unordered_map>

#include "tokenizers/shared/cached_words.hpp"
#include "tokenizers/shared/merge_table.hpp"
#include "tokenizers/tokenizer_json/models/model.hpp"

namespace quench::tokenizers {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Vocabulary = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

// What the file says, checked.
struct BpeParts {
  Vocabulary vocabulary;
  std::vector<bool> used;  // by id
  MergeTable merges{0};
  std::optional<int32_t> unknown;
  bool fuse_unknown = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
  // No merge makes U+2581 follow another character, so a text can be cut before each such place.
  bool marks_begin_words = false;
};

BpeParts read_bpe(const Entry& entry);

class Bpe final : public Model {
 public:
  Bpe(BpeParts parts, bool byte_level);

  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  std::optional<int32_t> id_of(std::string_view token) const override;
  bool has_id(int32_t id) const override;
  size_t size() const override { return parts_.vocabulary.size(); }
  int32_t id_count() const override { return static_cast<int32_t>(parts_.used.size()); }

 private:
  // The ids of one character that has no entry are decided by what went before, hence the state.
  struct Unknowns {
    bool pending = false;
  };

  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;
  void split_characters(std::string_view word, std::vector<int32_t>& ids) const;
  void missing_character(std::string_view character, Unknowns& unknowns,
                         std::vector<int32_t>& ids) const;
  std::optional<int32_t> whole_word(std::string_view word) const;

  BpeParts parts_;
  bool byte_level_;
  CachedWords words_;
  // With byte_level: whole words by their bytes, filled only where ignore_merges asks.
  Vocabulary words_by_bytes_;
  // The id of each byte's character (of each ASCII character without byte_level), or -1.
  std::array<int32_t, 256> byte_ids_{};
  // The ids of <0x00> to <0xFF>, or -1.
  std::array<int32_t, 256> fallback_ids_{};
};

}  // namespace quench::tokenizers
