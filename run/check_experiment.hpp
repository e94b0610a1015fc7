// What can be told to be wrong before anything is computed, beyond names and schemas.
#pragma once

#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

// Loads the plugins of the experiment, opens its corpora and looks at its files: combinations of
// parameters that a plugin refuses, a quantizer without the calibration that it needs, files that
// are not there. Throws Error(INVALID_ARGUMENT) with all of it, one a line.
void check_experiment(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      QuantizerInstances& quantizers);

// The part of it that a plan does too: what the shapes of the models forbid. Patterns of modules
// that fit none of them (module_rules.hpp), files that their format cannot hold. Loads plugins
// where there is something to ask. Throws likewise.
void check_shapes(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                  QuantizerInstances& quantizers);

}  // namespace quench
