#include "cli/hub_commits.hpp"

#include "core/error.hpp"
#include "core/hub/resolve.hpp"

namespace quench {

HubClaim::Commits hub_commits(const std::vector<CheckpointCell>& checkpoints,
                              const Context& context) {
  HubClaim::Commits out;
  for (const CheckpointCell& cell : checkpoints) {
    if (!cell.location.starts_with("hf://")) {
      continue;
    }
    try {
      const std::string commit =
          cell.located ? cell.located->commit : known_commit(cell.location, context.hub());
      out[repository_folder(parse_hub_spec(cell.location), hub_cache_root(context.hub_environment))]
          .insert(commit);
    } catch (const Error&) {
      continue;  // whoever opens it will report the error
    }
  }
  return out;
}

}  // namespace quench
