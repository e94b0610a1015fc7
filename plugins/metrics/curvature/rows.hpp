// The token sequences whose loss is measured.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::curvature {

// Each sequence is its own context; all of its ids except the first are scored.
using Row = std::span<const int32_t>;

// With length 0, the documents of a corpus as they are, without those of a single id. Otherwise all
// ids are joined and cut into sequences of `length`, and the remainder is dropped. Of these every
// `stride`-th from the first one on, at most `limit` (0: all). Throws FAILED_PRECONDITION if there
// are none.
std::vector<Row> rows_of(const quench_tokens& tokens, uint64_t length, uint64_t limit,
                         uint64_t stride = 1);

// Splits the rows into `sets` disjoint sets of `rows` / sets consecutive rows each and drops the
// remainder. Throws FAILED_PRECONDITION if there are fewer rows than sets.
std::vector<std::vector<Row>> disjoint_sets(const std::vector<Row>& rows, uint64_t sets);

}  // namespace quench::curvature
