// Data with fields for metrics that ask for it (abi/extension/records.h).
#pragma once

#include <filesystem>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/metric_handle.hpp"

namespace quench {

// What a metric reads beside its corpora.
struct WantedRecords {
  std::vector<CorpusUse> data_sets;
  std::vector<std::filesystem::path> files;
};

// Asks the metric, once in its life; nothing for one without the extension. Throws Error: what the
// metric finds wrong, a corpus plugin that is not there, parameters that it does not take.
WantedRecords wanted_records(Catalog& catalog, MetricHandle& metric, const HubEnvironment& hub);

// Hands all records of all data sets over, in order.
void give_records(Catalog& catalog, MetricHandle& metric, const WantedRecords& wanted,
                  const HubEnvironment& hub);

}  // namespace quench
