// Where tests find reference data that is not part of the project, and what they do without it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace quench::test {

// The folder `relative` of the fixtures (QUENCH_FIXTURES, default ../shared/fixtures beside the
// source tree), or nothing, after saying loudly on stderr that the calling test is skipped.
std::optional<std::filesystem::path> fixture(const std::string& relative);

// Likewise of the public data files beside the fixtures (../shared/data).
std::optional<std::filesystem::path> public_data(const std::string& relative);

// The project's own source and build folders.
std::filesystem::path source_dir();
std::filesystem::path binary_dir();

}  // namespace quench::test
