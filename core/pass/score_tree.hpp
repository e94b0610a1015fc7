// Scoring of rows that continue other rows.
#pragma once

#include "core/plugin/model_handle.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

// Fills args.nll (and args.argmax) where args.parents is set: what rows share goes through the
// model once (prefix_batches.hpp), and the head reads only the positions from which an id is
// predicted. Throws Error; CANCELLED when a stop was requested.
void score_tree(ModelHandle& model, const quench_score_args& args);

}  // namespace quench
