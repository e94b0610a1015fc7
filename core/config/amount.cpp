#include "core/config/amount.hpp"

namespace quench {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

int64_t unit_of(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return 1'000;
    case 'M':
      return 1'000'000;
    case 'B':
      return 1'000'000'000;
    case 'T':
      return 1'000'000'000'000;
    default:
      return 0;
  }
}

std::optional<int64_t> parse_amount(std::string_view text) {
  int64_t unit = text.empty() ? 0 : unit_of(text.back());
  if (unit > 0) {
    text.remove_suffix(1);
  } else {
    unit = 1;
  }
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back()) ||
      (text.size() > 1 && text[0] == '0' && text[1] != '.')) {  // 010 looks octal
    return std::nullopt;
  }
  int64_t value = 0;
  bool behind_point = false;
  for (const char c : text) {
    if (c == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    // Each digit behind the point uses up one power of ten of the unit.
    if (!is_digit(c) || (behind_point && unit % 10 != 0) ||
        __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, c - '0', &value)) {
      return std::nullopt;
    }
    unit = behind_point ? unit / 10 : unit;
  }
  return __builtin_mul_overflow(value, unit, &value) ? std::nullopt : std::optional(value);
}

}  // namespace quench
