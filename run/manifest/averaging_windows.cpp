#include "run/manifest/averaging_windows.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "core/error.hpp"
#include "core/plugin/handles/averaging_handle.hpp"
#include "run/manifest/missing_averages.hpp"

namespace quench {

namespace {

// Checkpoints in the form that plugins see. `cells` must outlive the result.
std::vector<quench_averaging_member> members_of(const std::vector<CheckpointCell>& cells,
                                                const std::vector<size_t>& indices) {
  std::vector<quench_averaging_member> members;
  for (const size_t index : indices) {
    const CheckpointCell& cell = cells[index];
    members.push_back({sizeof(quench_averaging_member),
                       (cell.revision.empty() ? cell.location : cell.revision).c_str(),
                       cell.step.value_or(-1), cell.tokens.value_or(-1)});
  }
  return members;
}

// Indices of each branch's checkpoints, in the order in which branches appear.
std::vector<std::vector<size_t>> by_branch(const std::vector<CheckpointCell>& checkpoints) {
  std::vector<std::string> names;
  std::vector<std::vector<size_t>> branches;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), checkpoints[i].branch);
    const auto place = static_cast<size_t>(found - names.begin());
    if (found == names.end()) {
      names.push_back(checkpoints[i].branch);
      branches.emplace_back();
    }
    branches[place].push_back(i);
  }
  return branches;
}

WeightsCell average_of(AveragingHandle& handle, const AveragingCell& averaging,
                       size_t averaging_index, const std::vector<CheckpointCell>& checkpoints,
                       const std::vector<size_t>& of) {
  if (std::set<size_t>(of.begin(), of.end()).size() != of.size()) {
    fail(QUENCH_INVALID_ARGUMENT, "averaging {}: `of` names a checkpoint twice", averaging.label);
  }
  const std::vector<quench_averaging_member> members = members_of(checkpoints, of);
  const std::vector<uint64_t> selected = handle.select(members, members.size() - 1);
  if (selected.size() != of.size()) {
    fail(QUENCH_FAILED_PRECONDITION, "averaging {}: `of` names {} checkpoints, the scheme takes {}",
         averaging.label, of.size(), selected.size());
  }
  return {of.back(), averaging_index, of};
}

}  // namespace

std::vector<WeightsCell> averaged_weights(Catalog& catalog, const AveragingCell& averaging,
                                          size_t averaging_index,
                                          const std::vector<CheckpointCell>& checkpoints,
                                          const std::vector<size_t>& of,
                                          std::vector<std::string>* gaps) {
  AveragingHandle handle(catalog, *averaging.plugin, averaging.parameters);
  MissingAverages missing(averaging.label);
  if (!of.empty()) {
    return {average_of(handle, averaging, averaging_index, checkpoints, of)};
  }
  std::vector<WeightsCell> out;
  std::string reason = "there are no checkpoints";
  size_t longest = 0;
  for (const std::vector<size_t>& branch : by_branch(checkpoints)) {
    const std::vector<quench_averaging_member> members = members_of(checkpoints, branch);
    missing.begin_branch(checkpoints[branch.front()].branch);
    for (size_t last = 0; last < branch.size(); ++last) {
      try {
        WeightsCell cell{branch[last], averaging_index, {}};
        for (const uint64_t index : handle.select(members, last)) {
          if (index > last) {
            fail(QUENCH_INTERNAL, "{}: selects a checkpoint after {}", averaging.label,
                 members[last].name);
          }
          cell.members.push_back(branch[index]);
        }
        out.push_back(std::move(cell));
        missing.found();
      } catch (const Error& error) {
        if (error.code() != QUENCH_FAILED_PRECONDITION) {
          throw;
        }
        missing.missing(members[last].name, error.what());
        // Reports the reason at the end of the longest branch, which lacks the fewest checkpoints.
        if (branch.size() >= longest) {
          longest = branch.size();
          reason = error.what();
        }
      }
    }
  }
  if (out.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "no checkpoint has this average: {}", reason);
  }
  if (gaps != nullptr) {
    *gaps = missing.lines();
  }
  return out;
}

}  // namespace quench
