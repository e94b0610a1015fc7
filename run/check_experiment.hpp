// Finds errors before anything is computed, beyond names and schemas.
#pragma once

#include <set>

#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

// Loads the plugins of the experiment, opens its corpora and examines its files. Finds combinations
// of parameters that a plugin refuses, a quantizer without the calibration that it needs, missing
// files. Throws Error(INVALID_ARGUMENT) with all errors, one per line.
void check_experiment(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      QuantizerInstances& quantizers, MetricInstances& metrics);

// The checkpoints (indices) that these rows read. Of a share the others may be missing.
std::set<size_t> checkpoints_read(const Experiment& experiment);

// The checks that `plan` also makes, from the shapes of the models: patterns of modules that match
// none (module_rules.hpp), files that their format cannot hold. Loads plugins if there is something
// to ask. Throws likewise.
void check_shapes(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                  QuantizerInstances& quantizers);

}  // namespace quench
