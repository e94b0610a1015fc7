// Bounds that keep a hostile tokenizer.json or text from costing more than it should.
#pragma once

#include <cstddef>

#include "core/text/entry.hpp"

namespace quench::text {

inline constexpr size_t kFileLimitBytes = size_t{1} << 30;
// Positions inside one text are 32 bits wide in the model.
inline constexpr size_t kTextLimitBytes = size_t{1} << 30;
// Matching costs up to this many steps per byte of text.
inline constexpr size_t kAddedTokenLimitBytes = 1024;
inline constexpr size_t kPatternLimitBytes = size_t{1} << 16;
inline constexpr int kSequenceDepthLimit = 8;

// Refuses component sequences nested deeper than anyone writes.
inline void check_depth(const Entry& entry, int depth) {
  if (depth > kSequenceDepthLimit) {
    entry.reject("sequences are nested deeper than {}", kSequenceDepthLimit);
  }
}

}  // namespace quench::text
