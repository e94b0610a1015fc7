// Added tokens: strings that become one id wherever they stand, before the model sees the text.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // is looked for after normalization
};

// One of the array "added_tokens".
AddedToken read_added_token(const Entry& entry);

// A stretch of the text that is an added token (id >= 0), or lies between two.
struct Segment {
  size_t begin;
  size_t end;
  int32_t id = -1;
};

// Finds the tokens of one pass.
class AddedTokenMatcher {
 public:
  AddedTokenMatcher();
  // Each content once. Not empty.
  void add(const AddedToken& token);

  // Appends segments that cover `text` (valid UTF-8) from left to right: of the tokens that begin
  // leftmost the longest. Segments overlap only where an rstrip token takes white space that has
  // tokens of its own. Thread-safe.
  void split(std::string_view text, std::vector<Segment>& segments) const;

 private:
  // A trie; children in a linked list of siblings.
  struct Node {
    int32_t token = -1;
    int32_t first_child = -1;
    int32_t next_sibling = -1;
    char byte = 0;
  };

  int32_t child(int32_t node, char byte) const;
  // Where a token can begin next, or the size.
  size_t candidate(std::string_view text, size_t from) const;
  // The longest token at `begin`, or -1.
  int32_t longest(std::string_view text, size_t begin) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  std::array<int32_t, 256> roots_{};
  // The first bytes of tokens, by one and by two; the latter let all pass for a one-byte token.
  std::bitset<256> first_;
  std::bitset<65536> first_two_;
};

}  // namespace quench::tokenizers
