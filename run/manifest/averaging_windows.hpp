// Decides which checkpoints enter which averages.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"

namespace quench {

// The averages that an entry of `averaging` makes; `averaging_index` goes into the cells.
//
// Without `of`: the averages that the plugin defines at each checkpoint, one branch at a time. A
// checkpoint may have none; if no checkpoint has one, that is an error with the plugin's reason.
// With `of` (indices into `checkpoints`): one average of exactly these checkpoints, in this
// order, which is also the order of a list of weights; it is attached to the last one.
// `gaps`, if given, gets a line for each branch with checkpoints that lack their average. Throws
// Error: FAILED_PRECONDITION if an average does not exist, INVALID_ARGUMENT for a repeated
// member.
std::vector<WeightsCell> averaged_weights(Catalog& catalog, const AveragingCell& averaging,
                                          size_t averaging_index,
                                          const std::vector<CheckpointCell>& checkpoints,
                                          const std::vector<size_t>& of = {},
                                          std::vector<std::string>* gaps = nullptr);

}  // namespace quench
