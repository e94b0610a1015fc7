// Scores sequences that continue other sequences.
#pragma once

#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

// Fills args.nll (and args.argmax) if args.parents is set: shared prefixes go through the model
// once (prefix_batches.hpp), and the head reads only positions from which an id is predicted.
// Throws Error; CANCELLED after a stop request.
void score_tree(ModelHandle& model, const quench_score_args& args);

}  // namespace quench
