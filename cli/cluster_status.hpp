// What `quench status` shows of the tasks that `quench submit` sent to a cluster.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace quench {

struct ClusterStatus {
  std::string text;     // lines, or ""
  nlohmann::json jobs;  // a list
  bool active = false;  // something is queued or runs
};

// Asks the cluster at most every 15 seconds, as its administrators would like.
class ClusterWatcher {
 public:
  explicit ClusterWatcher(std::filesystem::path run) : run_(std::move(run)) {}
  // The last submission, and earlier ones of which something is still queued or runs. Never throws
  // for what the cluster says: it is shown.
  const ClusterStatus& look();

 private:
  std::filesystem::path run_;
  std::optional<ClusterStatus> last_;
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace quench
