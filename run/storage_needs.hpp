// Which revisions of hubs the cells of a run still read, set of weights by set of weights.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "run/grid/grid.hpp"
#include "run/row_folders.hpp"

namespace quench {

struct StorageNeeds {
  // Specs of revisions, "hf://org/name@step600"; the indices of `steps` are theirs.
  std::vector<std::string> revisions;
  // In the order of the run: job of the experiment and index of the weights, and what is read: the
  // checkpoint, or all members of an average; of what a metric of the whole trajectory asks for,
  // its branch. Empty where every cell is done and every folder written.
  std::vector<std::pair<size_t, size_t>> at;
  std::vector<std::set<size_t>> steps;
};

// `cells`: from survey(). `places`: of the folders that the run writes.
StorageNeeds storage_needs(const std::vector<Experiment>& experiments,
                           const std::vector<Cell>& cells, const FolderPlaces& places,
                           Identities& identities);

// "step600", or "lawa window=3 at step600, an average of 3 checkpoints that are read together".
std::string step_in_words(const std::vector<Experiment>& experiments,
                          const std::pair<size_t, size_t>& at);

}  // namespace quench
