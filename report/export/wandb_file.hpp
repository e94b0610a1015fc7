// Lines of values as runs of Weights & Biases, in the files that its client writes without a
// network and `wandb sync` sends.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/export/tracked_lines.hpp"

namespace quench {

// 16 letters and digits that follow from the names of the project and of the line alone, so that
// more values of the same line are the same run.
std::string wandb_run_id(const std::string& project, const std::string& line);

// The whole content of the file of this line: its parameters as the run's config, one row of
// history for each step, and the values of the last step of each tag as its summary. All times are
// 0, so the same line makes the same bytes.
std::string wandb_file(const std::string& project, const TrackedLine& line);

// How many lines the folder had not as they are now.
struct WandbOutcome {
  size_t written = 0;
  size_t unchanged = 0;
};

// For each line FOLDER/offline-run-19700101_000000-ID/run-ID.wandb. A file that is there as it
// would be written is left alone, and so are the marks beside it that it was sent; of a file that
// changes the marks are removed. `project` may be any text: what a name of a project cannot have
// becomes an underscore. Throws Error naming the path.
WandbOutcome export_to_wandb(const std::filesystem::path& folder, const std::string& project,
                             const std::vector<TrackedLine>& lines);

}  // namespace quench
