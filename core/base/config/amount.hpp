// Counts of steps and tokens as people write them: 4000B, 1.5T, 20k, 512.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quench {

// 10^3, 10^6, 10^9, 10^12 for k (or K), M, B, T; 0 for other letters.
int64_t unit_of(char letter);

// Reads digits with an optional decimal point and an optional unit. Returns nothing if the text has
// another form, the value is not whole (1.5; but 1.5k is), or it exceeds 64 bits.
std::optional<int64_t> parse_amount(std::string_view text);

// Bytes: 512, 200GB, 1.5TB in powers of 1000, 512MiB in powers of 1024; the B may be left out.
// Rounds down to whole bytes. Returns nothing if the text has another form or exceeds 64 bits.
std::optional<uint64_t> parse_bytes(std::string_view text);

}  // namespace quench
