// Decides which checkpoints enter which averages.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/handles/averaging_handle.hpp"

namespace quench {

// A branch as a scheme of averaging sees it. What its members point to must outlive it.
struct AveragedBranch {
  std::string name;
  std::vector<quench_averaging_member> members;
  std::vector<uint64_t> ends;  // the members at which an average may end, ascending
};

// Calls `take(branch, end, members)` with indices for each average that the scheme defines. Returns
// a line for people for each branch with ends that lack their average: a window that has not filled
// yet is nothing to tell, a gap behind it is. Throws Error(FAILED_PRECONDITION) with the plugin's
// reason if there is no average at all.
std::vector<std::string> select_averages(
    AveragingHandle& scheme, const std::string& label, const std::vector<AveragedBranch>& branches,
    const std::function<void(size_t branch, size_t end, const std::vector<uint64_t>& members)>&
        take);

// The averages that an entry of `averaging` makes; `averaging_index` goes into the cells.
//
// Without `of`: the averages that the plugin defines at each checkpoint, one branch at a time. A
// checkpoint may have none; if no checkpoint has one, that is an error with the plugin's reason.
// With `of` (indices into `checkpoints`): one average of exactly these checkpoints, in this
// order, which is also the order of a list of weights; it is attached to the last one.
// `gaps`, if given, gets the lines of select_averages. Throws Error: FAILED_PRECONDITION if an
// average does not exist, INVALID_ARGUMENT for a repeated member.
std::vector<WeightsCell> averaged_weights(Catalog& catalog, const AveragingCell& averaging,
                                          size_t averaging_index,
                                          const std::vector<CheckpointCell>& checkpoints,
                                          const std::vector<size_t>& of = {},
                                          std::vector<std::string>* gaps = nullptr);

}  // namespace quench
