// Finds blocks and calibration rows that are longer than a model's context: each cell would fail
// after its model has been loaded.
#pragma once

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/store/fingerprints.hpp"
#include "run/checks.hpp"

namespace quench {

// Returns whether all models could be asked.
bool check_fits(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                MetricInstances& metrics, Checks& checks);

// The same for `plan`, which takes milliseconds: to describe models, families are loaded, and with
// them what computes. So `memory` keeps of these configs that all fits.
void check_known_fits(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      const Fingerprints& memory, Checks& checks);

}  // namespace quench
