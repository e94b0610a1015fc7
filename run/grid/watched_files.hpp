// The files behind checkpoints, and whether they changed. A folder stands for the regular files in
// it, not in its subfolders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"

namespace quench {

// The files of a checkpoint whose times show whether it changed: those of the folder, or a single
// file and what is read beside it.
std::vector<std::filesystem::path> watched_files(const CheckpointCell& cell,
                                                 const std::filesystem::path& path);

// Sizes and times of the files, which change if one is written or replaced. Throws
// std::filesystem::filesystem_error for a folder that cannot be listed.
std::string times_of(const std::vector<std::filesystem::path>& files);
// Their total size. Throws likewise.
uint64_t bytes_of(const std::vector<std::filesystem::path>& files);

}  // namespace quench
