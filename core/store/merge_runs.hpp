// Joins the folders of runs that machines without a common disk have written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace quench {

struct MergedRuns {
  uint64_t files = 0;               // of records and logs, copied or grown
  uint64_t folders = 0;             // of weights and logs of trainings, copied
  uint64_t evaluations = 0;         // that count in the joined run
  std::vector<std::string> hidden;  // cells whose values gave way to those of the preferred run
  std::vector<std::string> notes;   // what is odd about the shares, one line each
};

// Copies into `into` what `runs` have and it has not: records and tombstones, logs, averages,
// exports, checkpoints. Repeating it changes nothing; the files of a run that went on meanwhile
// grow. Each file and each folder of weights appears completely or not at all, and the records
// last; after a kill, do it again.
//
// Checks everything first. Throws Error(INVALID_ARGUMENT) listing the differences if the manifests
// differ, or if runs have different values of a cell: unless one of them is `prefer`, whose values
// then count. Throws Error(FAILED_PRECONDITION) if files of one name have different contents.
MergedRuns merge_runs(const std::vector<std::filesystem::path>& runs,
                      const std::filesystem::path& into,
                      const std::optional<std::filesystem::path>& prefer);

}  // namespace quench
