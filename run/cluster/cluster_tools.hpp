// The commands of a cluster: sbatch, squeue and sacct, or condor_submit, condor_q and
// condor_history.
#pragma once

#include <map>
#include <string>

#include "run/cluster/cluster_job.hpp"
#include "run/cluster/submission.hpp"
#include "run/cluster/task_states.hpp"

namespace quench {

// A file that a submission consists of, with its name in the job's folder.
struct ClusterFile {
  std::string name;
  std::string text;
  bool executable = false;
};
// The first one is what the scheduler's command takes.
std::vector<ClusterFile> cluster_files(Scheduler scheduler, const ClusterJob& job);

// Makes the job's folder, writes the files, hands them to the scheduler and records what it took.
// Throws Error, and leaves no folder then: NOT_FOUND if there is no such command on PATH;
// FAILED_PRECONDITION if another `submit` has made the folder, or with what the command said.
Submission send_to_cluster(Scheduler scheduler, const ClusterJob& job);

// What the cluster knows of a submission.
struct SubmissionStates {
  TaskStates shares;    // by share; one that is missing here has ended, if the queue was asked
  std::string unknown;  // why nothing is known of some or all of them, or ""
  bool asked = true;    // false: the queue could not be asked, so any task may be in it
};
enum class Ask { kQueue, kQueueAndHistory };
SubmissionStates ask_cluster(const Submission& submission, Ask ask);

// How to end what was submitted: "scancel 12".
std::string cancel_command(const Submission& submission);

}  // namespace quench
