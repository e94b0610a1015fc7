// Brings the files of a plan into the hub's cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/io/file.hpp"
#include "core/hub/fetch/fetch_plan.hpp"

namespace quench {

struct FetchState {
  std::string file;         // "hf://org/name@step600: model.safetensors"
  size_t files_done = 0;    // of the plan's missing files
  uint64_t bytes_done = 0;  // of its missing bytes
};

struct FetchOptions {
  // Called for each file and then for each piece that arrives.
  std::function<void(const FetchState&)> on_progress = [](const FetchState&) {};
  // Called for each file that came, before it gets its name.
  std::function<void(const PlannedRevision&, const HubFile&, const FileIdentity&)> on_arrived =
      [](const PlannedRevision&, const HubFile&, const FileIdentity&) {};
};

// Revision by revision: files, snapshot, name. Every file is compared with its hash before it gets
// its name. A line that is cut goes on where it was. Throws Error: RESOURCE_EXHAUSTED if the disk
// has too little space, told before the first byte; DATA_LOSS for content that twice has another
// hash; CANCELLED; and what HubApi throws. What has arrived by then is kept,
// and the next fetch goes on with it.
void fetch(const FetchPlan& plan, HubApi& api, const FetchOptions& options = {});

}  // namespace quench
