// Numbers in text.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace quench {

// The number that the whole text is, in decimal digits and with a minus sign where the type has
// one; nothing if anything stands before or behind it, or if it does not fit.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number out{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end ? std::optional<Number>(out) : std::nullopt;
}

// Whether the text is so many hexadecimal digits, in lower case.
inline bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace quench
