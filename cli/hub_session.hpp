// From a manifest or a spec to files in the hub's cache.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "core/fetch/fetch.hpp"
#include "core/fetch/hub_access.hpp"

namespace quench {

// One conversation with a hub. Reads the token only when it begins.
class HubSession {
 public:
  // Throws Error(FAILED_PRECONDITION) if the environment says that there is no network; UsageError
  // for a wrong variable.
  explicit HubSession(Context& context);

  // `source`: hf://... or a manifest, changed by `sets`; of that only what `job` needs, unless it
  // is -1. Opens connections and writes nothing. Throws UsageError with all that does not exist.
  FetchPlan plan(const std::string& source, const std::vector<std::string>& sets, int64_t job = -1);
  // Throws Error(CANCELLED) with the command that goes on.
  void fetch(const FetchPlan& plan, Progress& progress);

 private:
  std::vector<FetchRequest> requests(const std::string& manifest,
                                     const std::vector<std::string>& sets, int64_t job);

  Context& context_;
  HubAccess access_;
  Persistence persistence_;
  HubApi api_;
};

}  // namespace quench
