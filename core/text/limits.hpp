// Bounds that keep a hostile tokenizer.json or text from costing more than it should.
#pragma once

#include <algorithm>
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

// Special tokens that a template puts around a text; real ones have one to four.
inline constexpr size_t kTemplateLimitIds = 1024;
// Components of one sequence; the longest that is known has 26.
inline constexpr size_t kSequenceLimit = 256;

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

// Refuses component sequences nested deeper than anyone writes.
inline void check_depth(const Entry& entry, int depth) {
  if (depth > kSequenceDepthLimit) {
    entry.reject("sequences are nested deeper than {}", kSequenceDepthLimit);
  }
}

// The components of a sequence; refuses more than anyone writes.
inline std::vector<Entry> sequence_parts(const Entry& list) {
  if (list.value().is_array() && list.value().size() > kSequenceLimit) {
    list.reject("{} components, expected at most {}", list.value().size(), kSequenceLimit);
  }
  return list.elements();
}

}  // namespace quench::text
