// The character rewriting of a SentencePiece model: a double-array trie (darts-clone) from strings
// to strings, as it lies in the file.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/sentencepiece/utf8_state.hpp"

namespace quench::tokenizers {

class Charsmap {
 public:
  // No rules.
  Charsmap() = default;
  // All rules that a text can reach are looked at, so that later look-ups cannot leave the tables:
  // each is for whole characters, its replacement is UTF-8 and ends inside `blob`. Throws Error,
  // whose message `name` begins: INVALID_ARGUMENT; RESOURCE_EXHAUSTED past 2 MiB.
  Charsmap(std::string_view blob, const std::string& name);

  bool empty() const { return units_.empty(); }

  struct Rule {
    size_t length = 0;  // of what is replaced; 0: no rule applies
    std::string_view replacement;
  };
  // The rule for the longest prefix of `text` that has one. Thread-safe.
  Rule longest(std::string_view text) const;

  // Whether some rule begins with this byte.
  bool begins_rule(char byte) const { return first_[static_cast<unsigned char>(byte)]; }

 private:
  static bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) == 1; }
  static uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFF; }
  // The byte that leads to the unit; leaves have bit 31, so they match none.
  static uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
  static uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

  void check(const std::string& name) const;
  void check_rule(uint32_t leaf, Utf8State state, const std::string& name) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ended by NUL
  std::bitset<256> first_;
};

}  // namespace quench::tokenizers
