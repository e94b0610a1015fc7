// Bounds that keep a hostile tokenizer.json from costing more than it should.
#pragma once

#include <cstddef>

#include "tokenizers/shared/text_bounds.hpp"
#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

// Matching costs up to this many steps per byte of text.
inline constexpr size_t kAddedTokenLimitBytes = 1024;
inline constexpr size_t kPatternLimitBytes = size_t{1} << 16;
inline constexpr int kSequenceDepthLimit = 8;

// Special tokens that a template puts around a text; real ones have one to four.
inline constexpr size_t kTemplateLimitIds = 1024;
// Components of one sequence; the longest that is known has 26.
inline constexpr size_t kSequenceLimit = 256;

// Refuses component sequences nested deeper than anyone writes.
inline void check_depth(const Entry& entry, int depth) {
  if (depth > kSequenceDepthLimit) {
    entry.reject("sequences are nested deeper than {}", kSequenceDepthLimit);
  }
}

// The components of a sequence; refuses more than anyone writes.
inline std::vector<Entry> sequence_parts(const Entry& list) {
  if (list.value().size() > kSequenceLimit && list.value().is_array()) {
    list.reject("{} components, wanted at most {}", list.value().size(), kSequenceLimit);
  }
  return list.elements();
}

}  // namespace quench::tokenizers
