// Which checkpoints enter which averages.
#pragma once

#include <cstddef>
#include <vector>

#include "core/experiment/experiment.hpp"

namespace quench {

// The averages that an entry of `averaging` stands for; `averaging_index` goes into the cells.
//
// Without `of`: the averages that the plugin says end at each checkpoint, branch by branch and
// never across one. Where it says that none exists, there is none; where there is none at all, that
// is an error with the plugin's reason. With `of` (indices into `checkpoints`): one average of
// exactly these, in this order, which is the order of a list of weights; its place on the axes is
// the last one's. Throws Error: FAILED_PRECONDITION when an average does not exist,
// INVALID_ARGUMENT for a member given twice.
std::vector<WeightsCell> averaged_weights(Catalog& catalog, const AveragingCell& averaging,
                                          size_t averaging_index,
                                          const std::vector<CheckpointCell>& checkpoints,
                                          const std::vector<size_t>& of = {});

}  // namespace quench
