// Which members of a tokenizer.json its ids depend on.
#pragma once

#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

// Says in one warning which members of the file and of its model are neither read nor known to have
// no effect.
void warn_of_unknown_members(const Entry& root);

}  // namespace quench::tokenizers
