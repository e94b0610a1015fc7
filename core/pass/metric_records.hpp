// Data with fields for metrics that ask for it (`wants` and `take` of abi/kind/metric.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/handles/metric_handle.hpp"

namespace quench {

// A file besides the data sets.
struct WantedFile {
  std::filesystem::path path;
  std::string sha256;  // of what the host read of it, or of what lay there when it was named
  bool is_read_later = false;  // by the metric itself, when it evaluates
};

// What a metric reads besides its corpora.
struct WantedRecords {
  std::vector<CorpusUse> data_sets;
  std::vector<WantedFile> files;
};

// Asks the metric, once in its life; returns nothing for a metric that reads none. Throws
// Error: what the metric reports, a missing corpus plugin, parameters that it refuses.
WantedRecords wanted_records(Catalog& catalog, MetricHandle& metric, const HubEnvironment& hub);

// Throws Error(UNAVAILABLE) unless an instance that has evaluated (`read`) named the data sets and
// read the files that are in the keys.
void check_read(const std::string& metric, const WantedRecords& read, const WantedRecords& keyed);

// Passes all records of all data sets to the metric, in order. Throws what HeldCorpus::check
// throws, too.
void give_records(Catalog& catalog, MetricHandle& metric, const WantedRecords& wanted,
                  Corpora& corpora);

}  // namespace quench
