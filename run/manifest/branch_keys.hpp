// The keys of a branch of the trajectory, each described once.
#pragma once

#include <span>
#include <string>

#include "run/manifest/manifest_checkpoints.hpp"
#include "run/manifest/section_keys.hpp"

namespace quench {

// A branch, or what `checkpoints` says of all, while it is read.
struct BranchEntry {
  std::string where;
  Problems& problems;
  ManifestBranch out;
};
using BranchKey = SectionKey<BranchEntry>;

// What a branch has and `checkpoints` may give for all of them; what belongs to one branch; what
// only a branch under its name has.
std::span<const BranchKey> shared_branch_keys();
std::span<const BranchKey> own_branch_keys();
std::span<const BranchKey> named_branch_keys();

}  // namespace quench
