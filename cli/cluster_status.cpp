#include "cli/cluster_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/error.hpp"
#include "run/cluster/cluster_job.hpp"
#include "run/cluster/cluster_tools.hpp"

namespace quench {

namespace {

constexpr std::chrono::seconds kBetweenQuestions{15};
constexpr const char* kUnknown = "unknown";

// The state of a share's task, of the cluster's word or of its silence.
TaskState state_of(const SubmissionStates& states, uint64_t share) {
  const auto found = states.shares.find(share);
  if (found != states.shares.end()) {
    return found->second;
  }
  return {states.asked && states.unknown.empty() ? "ended" : kUnknown, "", false};
}

nlohmann::json job_json(const Submission& submission, const SubmissionStates& states) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const uint64_t share : submission.shares) {
    const TaskState state = state_of(states, share);
    tasks.push_back({{"share", share}, {"state", state.state}, {"reason", state.reason}});
  }
  return {{"scheduler", scheduler_name(submission.scheduler)},
          {"job", submission.job},
          {"submitted", submission.time},
          {"of", submission.of},
          {"tasks", tasks},
          {"unknown", states.unknown}};
}

// "slurm job 12 of 2026-11-23T17:20:05Z, shares of 8: running 1-2; pending (Resources) 3,5"
std::string job_line(const Submission& submission, const SubmissionStates& states) {
  std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> by_state;
  for (const uint64_t share : submission.shares) {
    const TaskState state = state_of(states, share);
    by_state[{state.state, state.reason}].push_back(share);
  }
  std::string out =
      fmt::format("{} job {} of {}, shares of {}:", scheduler_name(submission.scheduler),
                  submission.job, submission.time, submission.of);
  const char* separator = " ";
  for (auto& [state, shares] : by_state) {
    std::sort(shares.begin(), shares.end());
    out += fmt::format("{}{}{} {}", separator, state.first,
                       state.second.empty() ? "" : fmt::format(" ({})", printable(state.second)),
                       ranges_text(shares));
    separator = "; ";
  }
  return out + (states.unknown.empty() ? "" : fmt::format(" ({})", states.unknown)) + "\n";
}

ClusterStatus ask(const std::filesystem::path& run) {
  ClusterStatus out{"", nlohmann::json::array(), false};
  std::vector<Submission> submissions;
  try {
    submissions = read_submissions(run);
  } catch (const Error& error) {
    out.text = fmt::format("cluster: {}\n", error.what());
  }
  for (size_t i = 0; i < submissions.size(); ++i) {
    const bool last = i + 1 == submissions.size();
    const SubmissionStates states =
        ask_cluster(submissions[i], last ? Ask::kQueueAndHistory : Ask::kQueue);
    const bool active = std::any_of(states.shares.begin(), states.shares.end(),
                                    [](const auto& each) { return each.second.active; });
    if (active || last) {
      out.text += job_line(submissions[i], states);
      out.jobs.push_back(job_json(submissions[i], states));
    }
    out.active = out.active || active;
  }
  return out;
}

}  // namespace

const ClusterStatus& ClusterWatcher::look() {
  const auto now = std::chrono::steady_clock::now();
  if (!last_ || now - asked_ >= kBetweenQuestions) {
    last_ = ask(run_);
    asked_ = now;
  }
  return *last_;
}

}  // namespace quench
