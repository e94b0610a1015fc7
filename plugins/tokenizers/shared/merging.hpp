// Byte-pair merging: of all neighbours that merge, the pair of lowest rank goes first, the leftmost
// of equals, until none merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizers/shared/merge_table.hpp"

namespace quench::tokenizers {

// Merges `ids` in place, in O(n log n). Fewer than 2^31 ids. Thread-safe.
void merge_all(const MergeTable& table, std::vector<int32_t>& ids);

}  // namespace quench::tokenizers
