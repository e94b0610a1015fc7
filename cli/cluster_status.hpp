// What `quench status` shows of the tasks that `quench submit` sent to a cluster.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "cli/command.hpp"

namespace quench {

// What python/quench/cluster, which speaks with clusters, answers to a request. Throws as
// python_output().
nlohmann::json cluster_answer(const std::string& question, const nlohmann::json& request,
                              const Context& context);

struct ClusterStatus {
  std::string text;  // lines, or ""
  nlohmann::json jobs = nlohmann::json::array();
  bool active = false;  // something is queued or runs
};

// Asks the cluster at most every 15 seconds, as its administrators would like.
class ClusterWatcher {
 public:
  ClusterWatcher(std::filesystem::path run, const Context& context)
      : run_(std::move(run)), context_(context) {}
  // The last submission, and earlier ones of which something is still queued or runs. What the
  // cluster says, or that it cannot be asked, is shown; throws Error(CANCELLED) alone.
  const ClusterStatus& look();

 private:
  ClusterStatus ask() const;

  std::filesystem::path run_;
  const Context& context_;
  std::optional<ClusterStatus> last_;
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace quench
