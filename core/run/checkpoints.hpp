// The checkpoints that a manifest names, and opening one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/config/manifest.hpp"
#include "core/config/problems.hpp"
#include "core/hub/resolve.hpp"
#include "core/plugin/model_handle.hpp"
#include "core/run/experiment.hpp"

namespace quench {

// A revision pattern like "stage1-step{step}-tokens{tokens}B": text with captures. A capture
// matches digits and, unless the pattern writes the unit itself, one of k, M, B, T behind them.
class RevisionPattern {
 public:
  // Throws Error(INVALID_ARGUMENT) for a brace that is not closed or a capture given twice.
  explicit RevisionPattern(std::string pattern);
  // The captured numbers if all of `name` matches.
  struct Match {
    std::optional<int64_t> step;
    std::optional<int64_t> tokens;
  };
  std::optional<Match> match(const std::string& name) const;
  const std::string& text() const { return pattern_; }

 private:
  struct Piece {
    std::string literal;  // what comes before the capture
    std::string capture;  // "" at the end of the pattern
    int64_t unit = 1;     // 10^3, 10^6, ... where the literal behind the capture begins with a unit
  };
  std::string pattern_;
  std::vector<Piece> pieces_;
};

// One cell per checkpoint, ordered by step, then by name; in the order of the list where names are
// listed. A folder's revisions are its subfolders, a hub model's those in the cache.
std::vector<CheckpointCell> find_checkpoints(const ManifestCheckpoints& spec,
                                             const std::filesystem::path& relative_to,
                                             const HubEnvironment& hub, Problems& problems);

// Each checkpoint as a set of weights of its own.
std::vector<WeightsCell> weights_as_they_are(const std::vector<CheckpointCell>& checkpoints);

// A single checkpoint as given on the command line: a folder, a file, or hf://org/name[@revision].
CheckpointCell single_checkpoint(const std::string& model);

// An open checkpoint: its files and the model in memory.
struct OpenCheckpoint {
  CheckpointFolder folder;
  std::string commit;  // of a hub checkpoint, else empty
  ModelHandle model;
};

OpenCheckpoint open_checkpoint(Catalog& catalog, const CheckpointCell& cell,
                               const HubEnvironment& hub, quench_dtype dtype, quench_device device);

}  // namespace quench
