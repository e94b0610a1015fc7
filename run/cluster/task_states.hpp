// What a cluster's own tools say about the tasks of a submission.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace quench {

struct TaskState {
  std::string state;    // in lower case, as the cluster's documentation spells it: "node fail"
  std::string reason;   // why it waits or is held, or ""
  bool active = false;  // queued or running: it may still do something
};

// By the number that the cluster gives to a task: Slurm's index in the array, HTCondor's process.
using TaskStates = std::map<uint64_t, TaskState>;

inline constexpr const char* kSqueueFormat = "%F|%K|%T|%r";
// Output of `squeue -h -r -t all -o kSqueueFormat`; other arrays than `job` are left out.
TaskStates parse_squeue(const std::string& text, const std::string& job);

// Output of `sacct -n -X -P -o JobID,State`. Pending tasks stand in one line: 12_[3,5-7%2].
TaskStates parse_sacct(const std::string& text, const std::string& job);

// Output of `condor_q JOB -af:, ProcId JobStatus ExitCode HoldReason`, or of condor_history.
TaskStates parse_condor(const std::string& text);

}  // namespace quench
