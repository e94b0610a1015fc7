// What a command claims in the hub's cache while it reads checkpoints, so that no run that evicts
// takes their weights away.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "core/hub/claim.hpp"
#include "core/inputs/experiment/experiment.hpp"

namespace quench {

// The commits of hubs that these checkpoints are, as far as the cache knows them.
HubClaim::Commits hub_commits(const std::vector<CheckpointCell>& checkpoints,
                              const Context& context);

}  // namespace quench
