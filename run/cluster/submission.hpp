// What was sent to a cluster, in the run's folder: cluster/<number>/ has the scripts and the logs
// of one submission, and submission.json, written when the cluster has taken it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "run/manifest/cluster_keys.hpp"

namespace quench {

struct Submission {
  uint64_t number = 0;
  std::filesystem::path folder;
  Scheduler scheduler = Scheduler::kSlurm;
  std::string job;               // the cluster's number of the array
  std::vector<uint64_t> shares;  // in the order in which they were sent
  uint64_t of = 1;
  std::string time;  // UTC, ISO 8601
  std::string host;  // where `quench submit` ran
};

inline constexpr const char* kSubmissions = "cluster";  // the folder in the run's

// In order. Throws Error: DATA_LOSS for one that does not verify, FAILED_PRECONDITION for one of a
// newer version.
std::vector<Submission> read_submissions(const std::filesystem::path& run);

// Folders below cluster/ without a submission.json: somebody is submitting, or was killed while the
// cluster may have taken the job.
std::vector<std::filesystem::path> unfinished_submissions(const std::filesystem::path& run);

// The folder that the next submission gets; it is not made.
std::filesystem::path next_submission(const std::filesystem::path& run);

// Writes submission.json into the submission's folder.
void record_submission(const Submission& submission);

}  // namespace quench
