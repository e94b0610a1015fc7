// Many documents at once.
#pragma once

#include <span>
#include <string>

#include "core/text/tokenizer.hpp"

namespace quench::text {

// The ids of each document, in the order of the documents, on up to `threads` threads (at
// least one, at most what the machine has); the result does not depend on how many. Throws the
// Error of the first document that has one, named "document N: ..." from 0.
std::vector<std::vector<int32_t>> encode_documents(const Tokenizer& tokenizer,
                                                   std::span<const std::string> documents,
                                                   bool add_special_tokens, int threads);

}  // namespace quench::text
