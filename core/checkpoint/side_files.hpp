// The files beside the weights of a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/checkpoint/checkpoint_folder.hpp"

namespace quench {

// The existing ones of generation_config.json and the tokenizer's files in the folder `from`;
// `tokenizer` (file or folder), unless empty, replaces its tokenizer.
std::vector<std::filesystem::path> side_files(const std::filesystem::path& from,
                                              const std::filesystem::path& tokenizer);

// Copies these files of a checkpoint into the folder `to` and enters them in `list`; a tokenizer
// that is only carried inside the weights' file becomes a file. Throws what reading and writing
// throw.
void copy_side_files(const CheckpointFolder& from, const std::filesystem::path& tokenizer,
                     const std::filesystem::path& to, WrittenFiles& list);

// Throws Error(RESOURCE_EXHAUSTED) if the file system of `folder` reports less free space.
void check_space(const std::filesystem::path& folder, uint64_t needed);

}  // namespace quench
