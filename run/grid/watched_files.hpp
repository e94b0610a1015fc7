// The files behind checkpoints, and what tells that they or others changed. A folder stands for
// the regular files in it, not for what lies deeper.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/experiment/experiment.hpp"

namespace quench {

// The files of a checkpoint whose times tell whether it changed: the folder's, or a single file
// with what is read beside it.
std::vector<std::filesystem::path> watched_files(const CheckpointCell& cell,
                                                 const std::filesystem::path& path);

// Sizes and times of the files, which change when one of them is written or replaced. Throws
// std::filesystem::filesystem_error for a folder that cannot be listed.
std::string times_of(const std::vector<std::filesystem::path>& files);
// Their sizes, summed. Throws likewise.
uint64_t bytes_of(const std::vector<std::filesystem::path>& files);

}  // namespace quench
