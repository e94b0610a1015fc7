// From a manifest or a spec to files in the hub's cache.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "core/hub/fetch/fetch.hpp"
#include "core/hub/fetch/hub_access.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// One conversation with a hub. Reads the token only when it begins.
class HubSession {
 public:
  // Throws Error(FAILED_PRECONDITION) if the environment says that there is no network; UsageError
  // for a wrong variable.
  explicit HubSession(Context& context);

  // The experiments of a manifest, its patterns of revisions expanded by the hub's lists. A hub
  // that is not reached is no fault of the manifest: throws what HubApi throws.
  std::vector<Experiment> resolve(const Manifest& manifest);
  // Opens connections, and writes only the listings into QUENCH_HOME, for plans. Throws
  // UsageError that names everything missing.
  FetchPlan plan(const std::vector<FetchRequest>& wanted);
  // `source`: hf://... or a manifest, changed by `sets`; only the part that `job` needs, unless
  // `job` is -1. Otherwise like the above.
  FetchPlan plan(const std::string& source, const std::vector<std::string>& sets, int64_t job = -1);
  // Throws Error(CANCELLED) with the command that goes on.
  void fetch(const FetchPlan& plan, Progress& progress);

  HubApi& api() { return api_; }

 private:
  Context& context_;
  HubAccess access_;
  RetryPolicy retries_;
  HubApi api_;
};

// What resolved experiments want of the hub: the checkpoints that they read; the tokenizers and
// data that the cache lacks.
std::vector<FetchRequest> model_requests(const std::vector<Experiment>& experiments);
std::vector<FetchRequest> data_requests(const std::vector<Experiment>& experiments);

}  // namespace quench
