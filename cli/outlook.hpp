// What is left of a run, share by share, and what it will take: for `quench submit`.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/manifest_options.hpp"

namespace quench {

struct OutlookOptions {
  uint64_t shares = 1;
  uint32_t threads = 1;  // of a task
  bool retry_failed = false;
  bool fetches = false;  // the tasks get what is missing
};

struct OpenShare {
  uint64_t cells = 0;
  uint64_t open = 0;     // cells that a task can do now, or take from the store
  uint64_t blocked = 0;  // cells whose files are missing
  uint64_t failed = 0;   // cells that only `--retry failed` tries again
  uint64_t folders = 0;  // of weights, that a task can write now
  double seconds = 0;    // expected, of what is open, trainings included
};

struct Outlook {
  std::vector<OpenShare> shares;  // in order
  uint64_t memory = 0;            // bytes, predicted
  bool unknown = false;  // of files that the tasks will fetch, neither memory nor time is known
};

// Throws UsageError for what no task could do.
Outlook look_ahead(const LoadedRun& run, const OutlookOptions& options, Context& context);

}  // namespace quench
