// Model cards of the folders that a manifest's `export` writes.
#pragma once

#include <vector>

#include "cli/command.hpp"
#include "cli/manifest_options.hpp"
#include "core/store/record.hpp"
#include "run/grid/identity.hpp"

namespace quench {

// Writes a README.md into each folder that is whole and of which the records have a value, and
// leaves alone one that somebody else wrote or changed. `again`: something new was measured, so
// cards that are there are written again. A folder without a card is none the worse: a warning says
// why it has none.
void write_export_cards(const LoadedRun& run, const std::vector<Record>& records, bool again,
                        Identities& identities, const Context& context);

}  // namespace quench
