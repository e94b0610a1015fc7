// The keys of a branch of the trajectory, each described once.
#pragma once

#include <span>
#include <string>

#include "run/manifest/manifest_checkpoints.hpp"
#include "run/manifest/section_keys.hpp"

namespace quench {

// A branch, or the defaults that `checkpoints` gives for all branches, while it is read.
struct BranchEntry {
  std::string where;
  Problems& problems;
  ManifestBranch out;
};
using BranchKey = SectionKey<BranchEntry>;

// Keys that a branch has and that `checkpoints` may give for all; keys of one branch; keys that
// only a named branch has.
std::span<const BranchKey> shared_branch_keys();
std::span<const BranchKey> own_branch_keys();
std::span<const BranchKey> named_branch_keys();

}  // namespace quench
