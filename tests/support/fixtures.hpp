// Where tests find reference data that is not part of the project, and what they do without it.
#pragma once

#include <filesystem>
#include <string>

namespace quench::test {

// `relative` of the fixtures (QUENCH_FIXTURES, default ../shared/fixtures beside the source tree).
// Where it is not there the calling test is skipped, or fails if QUENCH_FIXTURES_REQUIRED is set.
std::filesystem::path fixture(const std::string& relative);

// Likewise of the public data files beside the fixtures (../shared/data).
std::filesystem::path public_data(const std::string& relative);
// Likewise of the study's own configuration files (../shared/study/config).
std::filesystem::path study_config(const std::string& relative);
// The folders, whether they are there or not.
std::filesystem::path fixtures_root();
std::filesystem::path public_data_root();
std::filesystem::path study_config_root();

// The project's own source and build folders.
std::filesystem::path source_dir();
std::filesystem::path binary_dir();

}  // namespace quench::test
