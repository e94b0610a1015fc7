// Records which files were written into a folder, hashed from the bytes as they were written.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace quench {

struct WrittenFile {
  uint64_t bytes = 0;
  std::string sha256;
};

// By the file's name in its folder.
using WrittenFiles = std::map<std::string, WrittenFile>;

}  // namespace quench
