// What can be told to be wrong before anything is computed, beyond names and schemas.
#pragma once

#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/run/experiment/experiment.hpp"

namespace quench {

// Loads the plugins of the experiment, opens its corpora and looks at its files: combinations of
// parameters that a plugin refuses, a quantizer without the calibration that it needs, files that
// are not there. Throws Error(INVALID_ARGUMENT) with all of it, one a line.
void check_experiment(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub);

}  // namespace quench
