#include "metrics/tasks/python_text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

namespace quench::tasks {

namespace {

struct Character {
  std::string_view bytes;
  int32_t code;  // -1 for a byte that is part of no code point
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> out;
  while (!text.empty()) {
    utf8proc_int32_t code = -1;
    const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &code);
    const size_t bytes = used > 0 ? static_cast<size_t>(used) : 1;
    out.push_back({text.substr(0, bytes), used > 0 ? code : -1});
    text.remove_prefix(bytes);
  }
  return out;
}

bool is_space(int32_t code) {
  constexpr std::array<int32_t, 8> kSpaces = {0x20,   0x85,   0xa0,   0x1680,
                                              0x2028, 0x2029, 0x202f, 0x205f};
  return (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f) ||
         (code >= 0x2000 && code <= 0x200a) || code == 0x3000 ||
         std::find(kSpaces.begin(), kSpaces.end(), code) != kSpaces.end();
}

std::string stripped(std::string_view text, std::string_view characters, bool left, bool right) {
  const std::vector<Character> all = characters_of(text);
  const std::vector<Character> set = characters_of(characters);
  const auto goes = [&](const Character& c) {
    return set.empty() ? is_space(c.code)
                       : std::any_of(set.begin(), set.end(),
                                     [&](const Character& s) { return s.bytes == c.bytes; });
  };
  size_t first = 0;
  size_t end = all.size();
  while (left && first < end && goes(all[first])) {
    ++first;
  }
  while (right && end > first && goes(all[end - 1])) {
    --end;
  }
  std::string out;
  for (size_t i = first; i < end; ++i) {
    out += all[i].bytes;
  }
  return out;
}

using CaseOf = utf8proc_int32_t (*)(utf8proc_int32_t);

void append(std::string& out, const Character& character, CaseOf case_of) {
  if (character.code < 0) {
    out += character.bytes;
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto used = utf8proc_encode_char(case_of(character.code), bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(used));
}

std::string mapped(std::string_view text, CaseOf first, CaseOf rest) {
  std::string out;
  CaseOf case_of = first;
  for (const Character& character : characters_of(text)) {
    append(out, character, case_of);
    case_of = rest;
  }
  return out;
}

}  // namespace

size_t length_of(std::string_view text) {
  return characters_of(text).size();
}

std::string strip(std::string_view text, std::string_view characters) {
  return stripped(text, characters, true, true);
}
std::string strip_left(std::string_view text, std::string_view characters) {
  return stripped(text, characters, true, false);
}
std::string strip_right(std::string_view text, std::string_view characters) {
  return stripped(text, characters, false, true);
}

std::string lower(std::string_view text) {
  return mapped(text, utf8proc_tolower, utf8proc_tolower);
}
std::string upper(std::string_view text) {
  return mapped(text, utf8proc_toupper, utf8proc_toupper);
}
std::string capitalize(std::string_view text) {
  return mapped(text, utf8proc_totitle, utf8proc_tolower);
}

std::string replace(std::string_view text, std::string_view what, std::string_view by) {
  if (what.empty()) {
    return std::string(text);
  }
  std::string out;
  for (size_t at = 0;;) {
    const size_t found = text.find(what, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) {
      return out;
    }
    out += by;
    at = found + what.size();
  }
}

std::string from(std::string_view text, size_t first) {
  const std::vector<Character> all = characters_of(text);
  std::string out;
  for (size_t i = first; i < all.size(); ++i) {
    out += all[i].bytes;
  }
  return out;
}

}  // namespace quench::tasks
