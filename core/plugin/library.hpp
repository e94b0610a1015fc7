// Plugin libraries in this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "quench/abi/module.h"

namespace quench {

// What tells one content of a file from another without reading it.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// Throws Error(NOT_FOUND) when there is no such file.
FileStamp stamp_of(const std::filesystem::path& path);

// SHA-256 of a file's content, 64 hex digits, and the stamp that it had before and after reading.
// Throws Error(DATA_LOSS) when it changed meanwhile.
struct FileHash {
  std::string sha256;
  FileStamp stamp;
};
FileHash hash_file(const std::filesystem::path& path);

// Loads a library (RTLD_NOW | RTLD_LOCAL, never unloaded) and calls its entry; a second time for
// the same path returns the same module. `path`: canonical. Throws Error(FAILED_PRECONDITION),
// without the path in its message: what the dynamic linker says, no entry symbol, an entry that is
// another library's, the program itself. Nothing in the module has been looked at.
const quench_module* open_library(const std::filesystem::path& path);

}  // namespace quench
