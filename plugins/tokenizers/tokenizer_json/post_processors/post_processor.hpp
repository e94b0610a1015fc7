// Post-processors put special tokens around the ids of a text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

// What goes before and after a text that is encoded with special tokens.
struct Frame {
  std::vector<int32_t> before;
  std::vector<int32_t> after;
};

// By "type"; an unknown one is an error that names it. `id_count` bounds the ids.
Frame make_post_processor(const Entry& entry, int32_t id_count);

Frame make_template(const Entry& entry, int32_t id_count);

}  // namespace quench::tokenizers
