// What is sent to a cluster: one task per share of a run, all asked for alike.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace quench {

struct ClusterJob {
  std::string run;                       // the run's name
  std::filesystem::path program;         // quench, absolute
  std::vector<std::string> arguments;    // `run MANIFEST ...`, without --share and --threads
  std::filesystem::path working_folder;  // absolute
  std::filesystem::path folder;          // of this submission: scripts and logs; absolute
  // What the installation depends on, whatever the node's own environment says. No secrets: it is
  // written into files.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> before;  // lines of shell before quench

  std::vector<uint64_t> shares;  // those to run, ascending, each 1..of
  uint64_t of = 1;
  uint64_t at_once = 0;  // 0: no limit

  // Of each task.
  uint64_t cpus = 1;
  uint64_t memory_bytes = 0;
  uint64_t seconds = 0;         // time limit
  bool seconds_chosen = false;  // by the user, not from an estimate
  uint64_t disk_bytes = 0;      // 0: whatever there is
  uint64_t gpus = 0;
  std::string gpu_type;

  uint64_t grace_seconds = 300;  // between the request to stop and the end
  bool requeue = true;
  uint64_t retries = 20;

  std::string partition;
  std::string account;
  std::string qos;
  std::vector<std::string> lines;  // for this scheduler, as the user wrote them
};

// "1-3,5": ascending numbers as ranges.
std::string ranges_text(const std::vector<uint64_t>& numbers);

// The lines of a task's script that lead to the command: its environment and the user's own lines.
std::string preparation_of(const ClusterJob& job);
// The command itself. `share`: the number as the shell has it, such as "$SLURM_ARRAY_TASK_ID".
std::string command_of(const ClusterJob& job, const std::string& share);

}  // namespace quench
