// What lies beside the weights of a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/io/written_files.hpp"

namespace quench {

// generation_config.json and the tokenizer's files in the folder `from`, those that there are;
// `tokenizer`, a file or a folder, stands in for its tokenizer unless empty.
std::vector<std::filesystem::path> side_files(const std::filesystem::path& from,
                                              const std::filesystem::path& tokenizer);

// Copies them into the folder `to` and enters them in `list`. Throws what reading and writing
// throw.
void copy_side_files(const std::filesystem::path& from, const std::filesystem::path& tokenizer,
                     const std::filesystem::path& to, WrittenFiles& list);

// Throws Error(RESOURCE_EXHAUSTED) where the file system of `folder` says that it has less room.
void check_space(const std::filesystem::path& folder, uint64_t needed);

}  // namespace quench
