// The batch script of a Slurm job array with one task per share.
#pragma once

#include <string>

#include "run/cluster/cluster_job.hpp"

namespace quench {

// For `sbatch`. Stopped at its time limit, a task puts itself back into the queue; preempted or on
// a node that failed, Slurm does so; cancelled, it stays so.
std::string slurm_script(const ClusterJob& job);

// "1-02:00:00", "04:00:00".
std::string slurm_time(uint64_t seconds);

}  // namespace quench
