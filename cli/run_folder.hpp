// The folder of a run, as command lines name it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace quench {

// The folder in the run's that has what was sent to a cluster.
inline constexpr const char* kSubmissions = "cluster";

// A name that is not a folder is one below runs/. Throws UsageError if neither is there.
std::filesystem::path run_folder(const std::string& run);

// Likewise. Also throws UsageError if no run has written anything into the folder, and none was
// submitted there.
std::filesystem::path folder_with_run(const std::string& run);

// What the last attempt wrote of itself (run.json); an empty object if there is nothing to read.
nlohmann::json last_description(const std::filesystem::path& folder);

}  // namespace quench
