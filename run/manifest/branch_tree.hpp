// Joins the checkpoints of each branch to a tree: offsets, learning rates, parents and forks.
#pragma once

#include <filesystem>
#include <vector>

#include "run/manifest/branches.hpp"

namespace quench {

struct FoundBranch {
  const ManifestBranch* spec;
  Branch branch;
  std::vector<CheckpointCell> checkpoints;
  std::vector<Place> places;  // of the checkpoints
};

// Adds the branch's offset to step and tokens, and computes tokens from `tokens_per_step`.
void place_on_axes(FoundBranch& branch, Problems& problems);

// Sets learning rate and phase of each checkpoint, and the branch's schedule.
void annotate_learning_rate(FoundBranch& branch, const std::filesystem::path& relative_to,
                            Problems& problems);

// Joins the branches. Reports missing parents, cycles, repeated branch names, and checkpoints in
// two branches.
Trajectory build_branch_tree(std::vector<FoundBranch> found, const ManifestCheckpoints& spec,
                             Problems& problems);

}  // namespace quench
