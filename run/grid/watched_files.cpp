#include "run/grid/watched_files.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "core/base/io/look.hpp"
#include "core/base/io/passing_fault.hpp"
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
    fail(status_of_fault(error.value(), QUENCH_FAILED_PRECONDITION), "{}: cannot be listed: {}",
         printable(folder.string(), 4096), error.message());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Calls `visit` with each regular file and its status.
template <typename Visit>
void for_each_file(const std::vector<fs::path>& files, Visit visit) {
  for (const fs::path& path : files) {
    for (const fs::path& file :
         is_folder_at(path) ? entries_of(path) : std::vector<fs::path>{path}) {
      struct stat status {};
      if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        visit(file, status);
      }
    }
  }
}

}  // namespace

std::vector<fs::path> watched_files(const CheckpointCell& cell, const fs::path& path) {
  std::vector<fs::path> files = {path};
  if (!cell.config.empty() && cell.config.front() != '{') {
    files.emplace_back(cell.config);
  }
  if (is_folder_at(path)) {
    return files;
  }
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer.model"}) {
    const fs::path beside = path.parent_path() / name;
    if (exists_at(beside)) {
      files.push_back(beside);
    }
  }
  return files;
}

std::string times_of(const std::vector<fs::path>& files) {
  std::string out;
  for_each_file(files, [&](const fs::path& file, const struct stat& status) {
    out += fmt::format("{} {} {} {}.{} {}.{}\n", file.string(), status.st_ino, status.st_size,
                       status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                       status.st_ctim.tv_nsec);
  });
  return out;
}

uint64_t bytes_of(const std::vector<fs::path>& files) {
  uint64_t bytes = 0;
  for_each_file(files, [&](const fs::path&, const struct stat& status) {
    bytes += static_cast<uint64_t>(status.st_size);
  });
  return bytes;
}

}  // namespace quench
