// The checkpoints that a manifest names.
#pragma once

#include <string>
#include <vector>

#include "core/config/manifest.hpp"
#include "core/config/problems.hpp"
#include "core/hub/resolve.hpp"
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

}  // namespace quench
