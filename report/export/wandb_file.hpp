// Writes lines of values as offline runs of Weights & Biases, in the files that its client writes
// without a network and `wandb sync` sends.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/export/tracked_lines.hpp"

namespace quench {

// 16 letters and digits, a function of the names of project and line alone, so that more values of
// the same line belong to the same run.
std::string wandb_run_id(const std::string& project, const std::string& line);

// The file of this line: its parameters as the run's config, one row of history per step, and
// the last value of each tag as its summary. All times are 0, so the same line gives the same
// bytes.
std::string wandb_file(const std::string& project, const TrackedLine& line);

// How many lines were new to the folder or had changed.
struct WandbOutcome {
  size_t written = 0;
  size_t unchanged = 0;
};

// Writes FOLDER/offline-run-19700101_000000-ID/run-ID.wandb for each line. Leaves an unchanged file
// alone, with the marks that say it was sent; removes the marks of a file that changes. `project`
// may be any text: characters that a project's name cannot have become underscores. Throws Error
// naming the path.
WandbOutcome export_to_wandb(const std::filesystem::path& folder, const std::string& project,
                             const std::vector<TrackedLine>& lines);

}  // namespace quench
