#include "metrics/tasks/python_text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "metrics/tasks/special_casing.hpp"
#include "quench/kit/error.hpp"

namespace quench::tasks {

namespace {

struct Character {
  std::string_view bytes;
  int32_t code;  // -1 for a byte that belongs to no code point
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

enum class Case { kLower, kUpper, kTitle };

bool is_cased(int32_t code) {
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT || code == 0xaa || code == 0xba ||
         (code >= 0x2160 && code <= 0x217f) || (code >= 0x24b6 && code <= 0x24e9);
}

// Marks, modifiers, and punctuation within words: none of them ends a word.
bool is_case_ignorable(int32_t code) {
  constexpr std::array<int32_t, 17> kWithinWords = {0x27,   0x2e,   0x3a,   0xb7,   0x387,  0x55f,
                                                    0x5f4,  0x2018, 0x2019, 0x2024, 0x2027, 0xfe13,
                                                    0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::find(kWithinWords.begin(), kWithinWords.end(), code) != kWithinWords.end();
  }
}

// Whether the capital sigma at `at` ends a word; its lower case then differs.
bool is_final(const std::vector<Character>& all, size_t at) {
  size_t before = at;
  while (before > 0 && is_case_ignorable(all[before - 1].code)) {
    --before;
  }
  size_t after = at + 1;
  while (after < all.size() && is_case_ignorable(all[after].code)) {
    ++after;
  }
  return before > 0 && is_cased(all[before - 1].code) &&
         (after == all.size() || !is_cased(all[after].code));
}

void append(std::string& out, const std::vector<Character>& all, size_t at, Case wanted) {
  constexpr int32_t kCapitalSigma = 0x3a3;
  constexpr int32_t kCapitalIWithDot = 0x130;
  const Character& character = all[at];
  if (character.code < 0) {
    out += character.bytes;
    return;
  }
  int32_t code = character.code;
  if (wanted == Case::kLower) {
    if (code == kCapitalIWithDot) {
      out += "i\u0307";
      return;
    }
    code = code == kCapitalSigma && is_final(all, at) ? 0x3c2 : utf8proc_tolower(code);
  } else if (const SpecialCase* special = special_case(code)) {
    out += wanted == Case::kUpper ? special->upper : special->title;
    return;
  } else {
    code = wanted == Case::kUpper ? utf8proc_toupper(code) : utf8proc_totitle(code);
  }
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto used = utf8proc_encode_char(code, bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(used));
}

std::string mapped(std::string_view text, Case first, Case rest) {
  std::string out;
  const std::vector<Character> all = characters_of(text);
  for (size_t at = 0; at < all.size(); ++at) {
    append(out, all, at, at == 0 ? first : rest);
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
  return mapped(text, Case::kLower, Case::kLower);
}
std::string upper(std::string_view text) {
  return mapped(text, Case::kUpper, Case::kUpper);
}
std::string capitalize(std::string_view text) {
  return mapped(text, Case::kTitle, Case::kLower);
}

void check_length(size_t bytes) {
  if (bytes > kMostText) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "a text of more than %zu bytes", kMostText);
  }
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
    check_length(out.size());
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
