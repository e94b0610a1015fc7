// What stands at a path, links followed. A look that fails for want of memory or descriptors, or
// because a disk failed, is not "nothing is there": what is passed over by mistake leaves a
// tokenizer out of an export, or a file out of a key. Such a look throws Error(UNAVAILABLE); any
// other that cannot be had is "nothing", as of a path that does not exist.
#pragma once

#include <filesystem>

struct stat;

namespace quench {

// What stands at the path itself, not what it links to; false, with errno, if nothing can be seen.
// On a network's file system a look may miss what another machine has just made and opening it does
// not, so both are tried.
bool see_entry(const std::filesystem::path& path, struct stat& out);

bool exists_at(const std::filesystem::path& path);
bool is_file_at(const std::filesystem::path& path);
bool is_folder_at(const std::filesystem::path& path);

// Whether both are there and one file.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// The folder itself, or the one that the file lies in.
std::filesystem::path folder_holding(const std::filesystem::path& path);

}  // namespace quench
