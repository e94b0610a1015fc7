// What a hub said of revisions, kept for commands that ask no hub.
#pragma once

#include <optional>

#include "core/hub/fetch/fetch_plan.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

// Keeps the files of each revision with weights under its spec; the latest counts.
void remember_listings(const FetchPlan& plan, const Fingerprints& memory);
// Spec, commit, files and their bytes; what is missing is not looked up. Nothing for a revision
// that no plan had.
std::optional<PlannedRevision> remembered_listing(const HubSpec& spec, const Fingerprints& memory);

}  // namespace quench
