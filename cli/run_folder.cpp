#include "cli/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "core/base/io/file.hpp"
#include "core/names.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRuns = "runs";

std::vector<std::string> names_below(const fs::path& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (at->is_directory(unreadable) == folders) {
      names.push_back(at->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "; runs has a, b and 3 more", or "".
std::string known_runs() {
  constexpr size_t kShown = 8;
  const std::vector<std::string> names = names_below(kRuns, true);
  return names.empty() ? "" : fmt::format("; {}/ has {}", kRuns, first_of_names(names, kShown));
}

bool is_written_by_runs(const std::string& name) {
  return name.starts_with("records-") || name.starts_with("status-") || name == "run.json" ||
         name == "manifest.json";
}

}  // namespace

fs::path run_folder(const std::string& run) {
  const fs::path below = fs::path(kRuns) / run;
  if (!fs::is_directory(run) && !fs::is_directory(below)) {
    throw UsageError(QUENCH_NOT_FOUND, fmt::format("{}: no such run, and no {}/{} either{}", run,
                                                   kRuns, run, known_runs()));
  }
  return fs::is_directory(run) ? fs::path(run) : below;
}

fs::path folder_with_run(const std::string& run) {
  const fs::path folder = run_folder(run);
  const std::vector<std::string> files = names_below(folder, false);
  const bool submitted = fs::is_directory(folder / kSubmissions);
  if (!submitted && std::none_of(files.begin(), files.end(), is_written_by_runs)) {
    throw UsageError(QUENCH_NOT_FOUND,
                     fmt::format("{}: no run here: the folder has no records; wanted the folder "
                                 "that `quench run` wrote{}",
                                 run, known_runs()));
  }
  return folder;
}

nlohmann::json last_description(const fs::path& folder) {
  constexpr uint64_t kLargestDescription = uint64_t{64} << 20;
  std::error_code unreadable;
  if (!fs::exists(folder / "run.json", unreadable)) {
    return nlohmann::json::object();
  }
  nlohmann::json out =
      nlohmann::json::parse(read_file(folder / "run.json", kLargestDescription), nullptr, false);
  return out.is_object() ? out : nlohmann::json::object();
}

}  // namespace quench
