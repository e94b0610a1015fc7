// The tree of branches that a manifest names, with all checkpoints.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/config/problems.hpp"
#include "core/hub/environment.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/handles/format_handle.hpp"
#include "run/manifest/manifest_checkpoints.hpp"

namespace quench {

// The revisions of a hub model, sorted.
using ListRevisions = std::function<std::vector<std::string>(const std::string& model)>;

// What revisions the models have, looked up once: the points of a sweep ask for the same ones. A
// folder's revisions are its subfolders, or the checkpoints that a format finds among its files; a
// hub model's are those in the cache, or what `list` says.
class RevisionNames {
 public:
  RevisionNames(Catalog& catalog, HubEnvironment hub, ListRevisions list = nullptr)
      : catalog_(catalog), hub_(std::move(hub)), list_(std::move(list)) {}
  // Sorted. `folder`: where a model outside the hub is. Throws Error.
  const std::vector<std::string>& of(const std::string& model, const std::filesystem::path& folder);
  // "; did you mean hf://org/name?" of a model that is not in the cache, or "".
  std::string near(const std::string& model) const { return near_cached(model, hub_); }
  // The checkpoints that lie as files in a folder, by step; none for a folder that is one.
  const std::vector<PlacedCheckpoint>& placed(const std::filesystem::path& folder);

 private:
  Catalog& catalog_;
  HubEnvironment hub_;
  ListRevisions list_;
  std::map<std::string, std::vector<PlacedCheckpoint>> placed_;
  std::map<std::string, std::vector<std::string>> known_;
};

struct Trajectory {
  std::vector<Branch> branches;              // in the order of the manifest
  std::vector<CheckpointCell> checkpoints;   // branch by branch, each in its order
  std::vector<const ManifestBranch*> specs;  // [branches] the manifest entry of each
  // The entry of the branch of that name, or nullptr.
  const ManifestBranch* spec_of(const std::string& branch) const;
};

// Orders the checkpoints of a branch by step, else by tokens, else as listed. A branch whose name
// has captures becomes one branch per value found. Adds errors to `problems`.
Trajectory find_trajectory(const ManifestCheckpoints& spec,
                           const std::filesystem::path& relative_to, RevisionNames& names,
                           Problems& problems);

// The text of a config.json that a manifest names or contains. Throws Error if it cannot be read.
std::string config_text(const std::string& config, const std::filesystem::path& relative_to);

// "; did you mean hf://org/name?" for a path in the form org/name, that `~` means nothing here, or
// "".
std::string path_hint(const std::string& path);

// Resolves "branch@last", "branch@first", "branch@step600", "branch@<revision>" to indices of
// `checkpoints`; the branch may be omitted ("last") if there is only one. Returns one index, or one
// per matching branch if the branch has captures ("ing{i}@last"). Throws Error(INVALID_ARGUMENT)
// with the nearest name.
std::vector<size_t> find_references(const Trajectory& trajectory, const std::string& reference);

// The checkpoints (indices, ascending) that `at` of `replicates` selects: `first` and `last` of
// every branch, `forks` (where branches begin), references. Adds errors to `problems`.
std::vector<size_t> find_places(const Trajectory& trajectory, const std::vector<PlacedText>& at,
                                const std::string& where, Problems& problems);

}  // namespace quench
