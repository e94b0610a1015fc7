// A network file system's listings and attributes may be older than its files: a file that can be
// opened by its name exists.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// Waits until those of the files that exist in `folder` are listed there, at most a minute.
void wait_until_listed(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace quench
