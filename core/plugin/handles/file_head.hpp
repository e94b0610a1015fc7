// The beginning of a file, by which plugins recognize their own files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/io/file.hpp"
#include "quench/abi/kind/tokenizer.h"

namespace quench {

struct FileHead {
  std::string name;   // without its folder
  std::string bytes;  // the first bytes, at most kBytes
  uint64_t size = 0;  // of the whole file

  static constexpr uint64_t kBytes = 4096;

  // Throws what File throws.
  static FileHead read(const std::filesystem::path& path) {
    const File file(path);
    std::string bytes(kBytes, '\0');
    bytes.resize(file.read_present(0, bytes.data(), bytes.size()));
    return {path.filename().string(), std::move(bytes), file.size()};
  }
  // The head of a file that is in memory.
  static FileHead of(const std::string& name, std::string_view content) {
    return {name, std::string(content.substr(0, kBytes)), content.size()};
  }
  // Valid as long as this object.
  quench_file_head view() const {
    return {sizeof(quench_file_head), name.c_str(), bytes.data(), bytes.size(), size};
  }
};

}  // namespace quench
