// The files of an HTCondor cluster of jobs with one job per share: the submit description, and the
// script that each job runs.
#pragma once

#include <string>

#include "run/cluster/cluster_job.hpp"

namespace quench {

inline constexpr const char* kCondorTask = "task.sh";

// For `condor_submit`; names `kCondorTask` in the job's folder as the executable. Keys of the job
// that HTCondor has no word for (partition, qos) are left out.
std::string condor_description(const ClusterJob& job);
// Takes the number of a share as its only argument.
std::string condor_task(const ClusterJob& job);

}  // namespace quench
