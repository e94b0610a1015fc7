// What lies beside the weights of a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>

namespace quench {

// Copies generation_config.json and the tokenizer's files from the folder `from`; `tokenizer`, a
// file or a folder, stands in for its tokenizer unless empty. Throws what reading and writing
// throw.
void copy_side_files(const std::filesystem::path& from, const std::filesystem::path& tokenizer,
                     const std::filesystem::path& to);

// Throws Error(RESOURCE_EXHAUSTED) where the file system of `folder` says that it has less room.
void check_space(const std::filesystem::path& folder, uint64_t needed);

}  // namespace quench
