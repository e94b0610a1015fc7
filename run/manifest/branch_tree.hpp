// From the checkpoints found for each branch to a tree: offsets, learning rates, parents and forks.
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

// Adds the branch's offset to step and tokens, and fills in tokens from `tokens_per_step`.
void place_on_axes(FoundBranch& branch, Problems& problems);

// Learning rate and phase of each checkpoint.
void annotate_learning_rate(FoundBranch& branch, const std::filesystem::path& relative_to,
                            Problems& problems);

// Joins the branches: parents that are not there, cycles, two branches of one name and checkpoints
// that are in two branches are problems.
Trajectory plant(std::vector<FoundBranch> found, const ManifestCheckpoints& spec,
                 Problems& problems);

}  // namespace quench
