// Finds errors before anything is computed, beyond names and schemas.
#pragma once

#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

// Loads the plugins of the experiment, opens its corpora and examines its files. Finds combinations
// of parameters that a plugin refuses, a quantizer without the calibration that it needs, missing
// files. Throws Error(INVALID_ARGUMENT) with all errors, one per line.
void check_experiment(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      QuantizerInstances& quantizers, MetricInstances& metrics);

// What `plan` and `submit` find of that: all that needs neither weights nor what a hub may still
// bring, with the same messages. Loads families only for models of which `memory` does not know
// that blocks and calibration rows fit. Throws likewise.
void check_planned(Catalog& catalog, const std::vector<Experiment>& experiments,
                   const HubEnvironment& hub, const Fingerprints& memory);

}  // namespace quench
