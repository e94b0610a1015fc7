#include "run/grid/watched_files.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    out.push_back(entry->path());
  }
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", printable(folder.string(), 4096),
         error.message());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_folder(const fs::path& path) {
  std::error_code error;  // whoever opens an unreadable file reports why
  return fs::is_directory(path, error);
}

}  // namespace

std::vector<fs::path> watched_files(const CheckpointCell& cell, const fs::path& path) {
  std::vector<fs::path> files = {path};
  if (!cell.config.empty() && cell.config.front() != '{') {
    files.emplace_back(cell.config);
  }
  if (is_folder(path)) {
    return files;
  }
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer.model"}) {
    const fs::path beside = path.parent_path() / name;
    std::error_code error;
    if (fs::exists(beside, error)) {
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
    if (!is_folder(file)) {
      add(file);
      continue;
    }
    const std::vector<fs::path> inside = entries_of(file);
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
    if (!is_folder(file)) {
      add(file);
      continue;
    }
    const std::vector<fs::path> inside = entries_of(file);
    std::for_each(inside.begin(), inside.end(), add);
  }
  return bytes;
}

}  // namespace quench
