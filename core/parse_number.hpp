// Numbers in text.
#pragma once

#include <charconv>
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

}  // namespace quench
