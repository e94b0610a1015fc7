// The token sequences that a loss is taken of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::curvature {

// A sequence is its own context; all of its ids but the first are scored.
using Row = std::span<const int32_t>;

// The documents of a corpus as they are (length 0), those of one id left out; or all ids joined and
// cut into sequences of `length`, the rest dropped. At most `limit` of them (0: all).
// FAILED_PRECONDITION when there are none.
std::vector<Row> rows_of(const quench_tokens& tokens, uint64_t length, uint64_t limit);

// `sets` disjoint runs of `rows` / sets consecutive rows each; what does not divide is dropped.
// FAILED_PRECONDITION when there are fewer rows than sets.
std::vector<std::vector<Row>> disjoint_sets(const std::vector<Row>& rows, uint64_t sets);

}  // namespace quench::curvature
