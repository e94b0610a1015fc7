#include "core/run/grid/watched_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

std::vector<fs::path> watched_files(const CheckpointCell& cell, const fs::path& path) {
  std::vector<fs::path> files = {path};
  if (!cell.config.empty() && cell.config.front() != '{') {
    files.emplace_back(cell.config);
  }
  if (fs::is_directory(path)) {
    return files;
  }
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer.model"}) {
    const fs::path beside = path.parent_path() / name;
    if (fs::exists(beside)) {
      files.push_back(beside);
    }
  }
  return files;
}

std::string times_of(const std::vector<fs::path>& files) {
  std::string out;
  const auto add = [&](const fs::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      out += fmt::format("{} {} {} {}.{} {}.{}\n", file.string(), status.st_ino, status.st_size,
                         status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                         status.st_ctim.tv_nsec);
    }
  };
  for (const fs::path& file : files) {
    if (!fs::is_directory(file)) {
      add(file);
      continue;
    }
    std::set<fs::path> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(file)) {
      inside.insert(entry.path());
    }
    std::for_each(inside.begin(), inside.end(), add);
  }
  return out;
}

uint64_t bytes_of(const std::vector<fs::path>& files) {
  uint64_t bytes = 0;
  const auto add = [&](const fs::path& file) {
    std::error_code error;
    const uint64_t size = fs::is_regular_file(file, error) ? fs::file_size(file, error) : 0;
    bytes += error ? 0 : size;
  };
  for (const fs::path& file : files) {
    if (!fs::is_directory(file)) {
      add(file);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(file)) {
      add(entry.path());
    }
  }
  return bytes;
}

}  // namespace quench
