// The keys of a branch of the trajectory.
#pragma once

#include "run/manifest/fields.hpp"
#include "run/manifest/manifest_checkpoints.hpp"

namespace quench {

// Keys that a branch has and that `checkpoints` may give for all; keys of one branch; keys that
// only a named branch has.
const Fields<ManifestBranch>& shared_branch_keys();
const Fields<ManifestBranch>& own_branch_keys();
const Fields<ManifestBranch>& named_branch_keys();

}  // namespace quench
