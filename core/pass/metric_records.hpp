// Data with fields for metrics that ask for it (abi/extension/records.h).
#pragma once

#include <filesystem>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/metric_handle.hpp"

namespace quench {

// What a metric reads besides its corpora.
struct WantedRecords {
  std::vector<CorpusUse> data_sets;
  std::vector<std::filesystem::path> files;
};

// Asks the metric, once in its life; returns nothing for a metric without the extension. Throws
// Error: what the metric reports, a missing corpus plugin, parameters that it refuses.
WantedRecords wanted_records(Catalog& catalog, MetricHandle& metric, const HubEnvironment& hub);

// Passes all records of all data sets to the metric, in order.
void give_records(Catalog& catalog, MetricHandle& metric, const WantedRecords& wanted,
                  const HubEnvironment& hub);

}  // namespace quench
