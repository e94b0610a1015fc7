#include "cli/hub_commits.hpp"

#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/resolve.hpp"

namespace quench {

HubClaim::Commits hub_commits(const std::vector<CheckpointCell>& checkpoints,
                              const Context& context) {
  HubClaim::Commits out;
  for (const CheckpointCell& cell : checkpoints) {
    if (!is_hub_spec(cell.location)) {
      continue;
    }
    try {
      const std::string commit =
          cell.located ? cell.located->commit : known_commit(cell.location, context.hub());
      const CachedRepository repository(hub_cache_root(context.hub_environment),
                                        parse_hub_spec(cell.location));
      out[repository.folder()].insert(commit);
    } catch (const Error&) {
      continue;  // reported when it is opened
    }
  }
  return out;
}

}  // namespace quench
