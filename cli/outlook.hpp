// What is left of a run, share by share, and what it will take: for `quench submit`.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/manifest_options.hpp"
#include "run/cluster/open_shares.hpp"

namespace quench {

struct OutlookOptions {
  uint64_t shares = 1;
  uint32_t threads = 1;  // of a task
  bool retry_failed = false;
};

struct Outlook {
  std::vector<OpenShare> shares;
  uint64_t memory = 0;  // bytes, predicted
};

// Throws UsageError for what no task could do.
Outlook look_ahead(const LoadedRun& run, const OutlookOptions& options, Context& context);

}  // namespace quench
