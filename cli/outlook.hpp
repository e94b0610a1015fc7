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
  bool fetches = false;  // the tasks get what is missing
};

struct Outlook {
  std::vector<OpenShare> shares;
  uint64_t memory = 0;   // bytes, predicted
  bool unknown = false;  // of files that the tasks will fetch, neither memory nor time is known
};

// Throws UsageError for what no task could do.
Outlook look_ahead(const LoadedRun& run, const OutlookOptions& options, Context& context);

}  // namespace quench
