// The work of `quench tokenize`.
#pragma once

#include <iosfwd>

#include "core/inputs/corpora/tokenizer.hpp"

namespace quench {

// Each line of `in` is a JSON string; each line of `out` becomes the JSON array of its ids, with
// the special tokens around them if `special`. Lines are encoded in batches as long as more input
// is at hand, and `out` is flushed before more is waited for. Returns 0. Throws Error, which names
// the line from 1, for a line that is not a JSON string or cannot be encoded; all lines before it
// are written. Throws Error when `out` fails.
int tokenize(Tokenizer& tokenizer, std::istream& in, std::ostream& out, bool special);

}  // namespace quench
