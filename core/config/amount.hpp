// Counts of steps and tokens as people write them: 4000B, 1.5T, 20k, 512.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quench {

// 10^3, 10^6, 10^9, 10^12 for k (or K), M, B, T; else 0.
int64_t unit_of(char letter);

// Digits, perhaps with a decimal point, and perhaps one unit behind them. Nothing where the text is
// not so written, the value is no whole number (1.5, but not 1.5k), or is beyond 64 bits.
std::optional<int64_t> parse_amount(std::string_view text);

}  // namespace quench
