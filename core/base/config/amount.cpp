#include "core/base/config/amount.hpp"

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

std::optional<uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kUnits = "kMGT";
  if (text.ends_with('B')) {
    text.remove_suffix(1);
  }
  const bool binary = text.ends_with('i');
  if (binary) {
    text.remove_suffix(1);
  }
  uint64_t unit = 1;
  if (!text.empty() && !is_digit(text.back())) {
    const char letter = text.back() == 'K' ? 'k' : text.back();
    const size_t power = kUnits.find(letter);
    if (power == std::string_view::npos) {
      return std::nullopt;
    }
    for (size_t i = 0; i <= power; ++i) {
      unit *= binary ? 1024 : 1000;
    }
    text.remove_suffix(1);
  } else if (binary) {
    return std::nullopt;
  }
  if (text.ends_with(' ') && unit > 1) {
    text.remove_suffix(1);
  }
  // The digits behind the point, as a whole number and the power of ten that it is divided by.
  const size_t point = text.find('.');
  const auto whole = parse_amount(text.substr(0, point));
  uint64_t bytes = 0;
  if (!whole || !is_digit(text.back()) ||
      __builtin_mul_overflow(static_cast<uint64_t>(*whole), unit, &bytes)) {
    return std::nullopt;
  }
  if (point == std::string_view::npos) {
    return bytes;
  }
  uint64_t divisor = 1;
  uint64_t part = 0;
  for (const char c : text.substr(point + 1)) {
    if (!is_digit(c) || divisor > 1'000'000'000) {
      return std::nullopt;
    }
    part = part * 10 + static_cast<uint64_t>(c - '0');
    divisor *= 10;
  }
  uint64_t fraction = 0;
  if (__builtin_mul_overflow(part, unit, &fraction) ||
      __builtin_add_overflow(bytes, fraction / divisor, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace quench
