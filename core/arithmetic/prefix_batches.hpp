// Packs sequences that continue other sequences into micro-batches in which a shared prefix goes
// through the model once.
#pragma once

#include <cstdint>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench {

// An id to be scored: from the residual stream at `place`, [row, column] of the batch in C order.
struct ScoredPlace {
  uint64_t place = 0;
  uint64_t id = 0;  // index into quench_score_args.ids
};

// A rectangle of ids with the batch's positions and segments (quench_batch); the latter are empty
// where all rows are plain: one path from a root, no padding.
struct PrefixBatch {
  int64_t rows = 0;
  int64_t length = 0;
  std::vector<int32_t> ids;
  std::vector<int32_t> positions;
  std::vector<int32_t> segments;
  std::vector<ScoredPlace> scored;
};

// What the cost of a row depends on.
struct PrefixShape {
  int64_t width = 1;          // of the residual stream
  int64_t max_positions = 1;  // of the model
};

// Plans the forward of `args`, whose `parents` are set.
//
// A tree of rows is cut into rows of the batch, each a prefix (the path from the root to some row)
// with the paths below it as alternatives: a model sees two levels, a tree may have many. Where to
// cut, and how many alternatives share a copy of their prefix, follows from
//
//   cost of a row of T tokens  =  T · (1 + T / (6 · width))
//
// in units of a token's linears (24·width² operations a block, against 4·T·width of attention). The
// last id of a row without children is not fed: nothing is predicted from it. Rows are sorted by
// length and put together while they fit kMicroBatchTokens, so the plan depends on shapes alone. A
// pad repeats its row's first id in place 0, which brings in no activation that is not there
// already.
//
// Throws Error(INVALID_ARGUMENT) for a parent that is not an earlier row, and for a path longer
// than the model's positions.
std::vector<PrefixBatch> plan_prefix_batches(const quench_score_args& args,
                                             const PrefixShape& shape);

}  // namespace quench
