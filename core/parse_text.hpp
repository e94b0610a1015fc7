// Text in parts.
#pragma once

#include <string_view>
#include <vector>

namespace quench {

// What stands between the separators, in order; "" is one empty part. Valid as long as the text.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

// Without the blanks around it.
inline std::string_view trimmed(std::string_view text, const char* blanks = " \t") {
  const size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace quench
