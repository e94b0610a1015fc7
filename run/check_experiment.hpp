// Finds errors before anything is computed, beyond names and schemas.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/store/fingerprints.hpp"
#include "run/grid/grid.hpp"

namespace quench {

// Loads the plugins of the experiment, opens its corpora and examines its files. Finds combinations
// of parameters that a plugin refuses, a quantizer without the calibration that it needs, missing
// files. Throws Error(INVALID_ARGUMENT) with all errors, one per line.
void check_experiment(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      QuantizerInstances& quantizers, MetricInstances& metrics);

// The part of these checks that `plan` and `submit` make, with the same messages: it reads no
// weights and nothing that a hub may still bring. Loads families only for models whose blocks and
// calibration rows are not in `memory` as fitting. Throws likewise.
void check_planned(Catalog& catalog, const std::vector<Experiment>& experiments,
                   const HubEnvironment& hub, const Fingerprints& memory);

// Quantizers with something to do: indices of an experiment and of a quantizer in it.
using WantedQuantizers = std::set<std::pair<size_t, size_t>>;
// Those that calibrate for cells that are `to_do`, as far as `counts` of their calibration holds.
WantedQuantizers wanted_quantizers(const std::vector<Experiment>& experiments,
                                   const std::vector<Cell>& cells,
                                   const std::function<bool(const Cell&)>& to_do,
                                   const std::function<bool(const Calibration&)>& counts = {});

// Finds calibrations for whose sequences their corpora have too little text, as far as the
// tokenizers are here. Throws likewise.
void check_calibration_text(Catalog& catalog, const std::vector<Experiment>& experiments,
                            const WantedQuantizers& wanted, Corpora& corpora);
// The same for cells of a plan that are to do: looks at small texts that `home` has the ids of, and
// tokenizes nothing.
void check_kept_text(Catalog& catalog, const std::vector<Experiment>& experiments,
                     const std::vector<Cell>& cells, const std::filesystem::path& home,
                     const HubEnvironment& hub);

}  // namespace quench
