#include "tokenizers/tokenizer_json/pre_tokenizers/gpt2_scanner.hpp"

#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/character_class.hpp"

namespace quench::tokenizers {

namespace {

CharacterClass class_at(std::string_view text, size_t& position) {
  const auto byte = static_cast<unsigned char>(text[position]);
  if (byte < 0x80) {
    ++position;
    return kAsciiClass[byte];
  }
  return classify_beyond_ascii(decode(text, position));
}

// The end of the run of one class that `position` lies in or after.
size_t run_end(std::string_view text, size_t position, CharacterClass wanted) {
  while (position < text.size()) {
    size_t after = position;
    if (class_at(text, after) != wanted) {
      break;
    }
    position = after;
  }
  return position;
}

// Bytes of 's 't 're 've 'm 'll 'd at an apostrophe, or 0.
size_t contraction(std::string_view text, size_t apostrophe) {
  const std::string_view rest = text.substr(apostrophe + 1, 2);
  if (rest.empty()) {
    return 0;
  }
  if (rest[0] == 's' || rest[0] == 't' || rest[0] == 'm' || rest[0] == 'd') {
    return 2;
  }
  return rest == "re" || rest == "ve" || rest == "ll" ? 3 : 0;
}

}  // namespace

size_t next_gpt2_word(std::string_view text, size_t begin) {
  if (text[begin] == '\'') {
    if (const size_t length = contraction(text, begin); length != 0) {
      return begin + length;
    }
  }
  size_t after = begin;
  const CharacterClass first = class_at(text, after);
  if (first != CharacterClass::space) {
    return run_end(text, after, first);
  }
  if (text[begin] == ' ' && after < text.size()) {
    const CharacterClass second = class_at(text, after);
    if (second != CharacterClass::space) {
      return run_end(text, after, second);
    }
  }
  // White space: all of it at the end of the text, else all but its last character, which the next
  // match may want; a single one is a match of its own.
  const size_t end = run_end(text, after, CharacterClass::space);
  if (end == text.size()) {
    return end;
  }
  const size_t last = previous(text, end);
  return last > begin ? last : end;
}

}  // namespace quench::tokenizers
