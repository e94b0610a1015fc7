// Finds calibrations for whose sequences their corpora have too little text.
#pragma once

#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "run/grid/grid.hpp"

namespace quench {

// Quantizers with something to do: indices of an experiment and of a quantizer in it.
using WantedQuantizers = std::set<std::pair<size_t, size_t>>;
// Whether the calibrations' corpora have enough text, as far as the tokenizers are here. Throws
// likewise.
void check_calibration_text(Catalog& catalog, const std::vector<Experiment>& experiments,
                            const WantedQuantizers& wanted, Corpora& corpora);
// The same for cells of a plan that are to do: looks at small texts that `home` has the ids of, and
// tokenizes nothing.
void check_kept_text(Catalog& catalog, const std::vector<Experiment>& experiments,
                     const std::vector<Cell>& cells, const std::filesystem::path& home,
                     const HubEnvironment& hub);

}  // namespace quench
