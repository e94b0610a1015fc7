// Bounds that keep a hostile file or text from costing more than it should.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace quench::tokenizers {

// Positions inside one text are 32 bits wide in the models.
inline constexpr size_t kTextLimitBytes = size_t{1} << 30;

// Throws Error when a text is longer than that or not UTF-8, with the offset.
void check_text(std::string_view text);

// Bytes that a text of `bytes` may have once it is rewritten: a chain of replacements could double
// it at each step. The most that Unicode's forms make of a text is 11 times its size (U+FDFA), of
// spaces "\u2581" makes 3 times theirs.
inline size_t rewritten_limit(size_t bytes) {
  constexpr size_t kTimes = 32;
  constexpr size_t kAlways = 256;
  return std::min(kAlways + kTimes * bytes, kTextLimitBytes);
}

// Throws Error where a text would have more bytes than that.
void check_rewritten(size_t bytes, size_t limit);

}  // namespace quench::tokenizers
