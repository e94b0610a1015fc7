#include "run/manifest/averaging_windows.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "core/error.hpp"
#include "core/names.hpp"

namespace quench {

namespace {

constexpr size_t kShownNames = 3;  // checkpoints that lack an average

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

std::vector<std::string> select_averages(
    AveragingHandle& scheme, const std::string& label, const std::vector<AveragedBranch>& branches,
    const std::function<void(size_t, size_t, const std::vector<uint64_t>&)>& take) {
  std::vector<std::string> gaps;
  std::string reason = "there are no checkpoints";
  size_t longest = 0;
  bool any = false;
  for (size_t b = 0; b < branches.size(); ++b) {
    const AveragedBranch& branch = branches[b];
    std::vector<std::string> missing;  // behind the first average; all if there is none
    std::string why;
    bool found = false;
    for (size_t end = 0; end < branch.ends.size(); ++end) {
      const uint64_t last = branch.ends[end];
      try {
        const std::vector<uint64_t> members = scheme.select(branch.members, last);
        if (std::any_of(members.begin(), members.end(), [&](uint64_t m) { return m > last; })) {
          fail(QUENCH_INTERNAL, "{}: selects a checkpoint after {}", label,
               branch.members[last].name);
        }
        take(b, end, members);
      } catch (const Error& error) {
        if (error.code() != QUENCH_FAILED_PRECONDITION) {
          throw;
        }
        missing.emplace_back(branch.members[last].name);
        why = error.what();
        continue;
      }
      if (!found) {  // until now the window was filling
        missing.clear();
      }
      any = found = true;
    }
    if (!missing.empty()) {
      gaps.push_back(fmt::format("averaging {}: no average at {}{}: {}", printable(label),
                                 branch.name.empty() ? "" : printable(branch.name) + " ",
                                 first_of_names(missing, kShownNames), printable(why, 4096)));
    }
    // Reports the reason at the end of the longest branch, which lacks the fewest checkpoints.
    if (!why.empty() && branch.ends.size() >= longest) {
      longest = branch.ends.size();
      reason = why;
    }
  }
  if (!any) {
    fail(QUENCH_FAILED_PRECONDITION, "no checkpoint has this average: {}", reason);
  }
  return gaps;
}

std::vector<WeightsCell> averaged_weights(Catalog& catalog, const AveragingCell& averaging,
                                          size_t averaging_index,
                                          const std::vector<CheckpointCell>& checkpoints,
                                          const std::vector<size_t>& of,
                                          std::vector<std::string>* gaps) {
  AveragingHandle scheme(catalog, *averaging.plugin, averaging.parameters);
  if (!of.empty()) {
    return {average_of(scheme, averaging, averaging_index, checkpoints, of)};
  }
  const std::vector<std::vector<size_t>> branches = by_branch(checkpoints);
  std::vector<AveragedBranch> seen;
  for (const std::vector<size_t>& branch : branches) {
    seen.push_back({checkpoints[branch.front()].branch, members_of(checkpoints, branch),
                    std::vector<uint64_t>(branch.size())});
    std::iota(seen.back().ends.begin(), seen.back().ends.end(), uint64_t{0});
  }
  std::vector<WeightsCell> out;
  std::vector<std::string> lines = select_averages(
      scheme, averaging.label, seen,
      [&](size_t branch, size_t end, const std::vector<uint64_t>& members) {
        WeightsCell& cell =
            out.emplace_back(WeightsCell{branches[branch][end], averaging_index, {}});
        for (const uint64_t member : members) {
          cell.members.push_back(branches[branch][member]);
        }
      });
  if (gaps != nullptr) {
    *gaps = std::move(lines);
  }
  return out;
}

}  // namespace quench
