#include "core/hub/snapshot.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

// Lists all entries of a folder except real subfolders; a link to a folder is an entry.
std::vector<fs::path> entries_of(const fs::path& folder) {
  constexpr size_t kMaxFiles = 100'000;
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->symlink_status(error).type() == fs::file_type::directory) {
      continue;
    }
    out.push_back(it->path());
    if (out.size() > kMaxFiles) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: more than {} files", folder.string(), kMaxFiles);
    }
  }
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", folder.string(), error.message());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_under(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

void check_snapshot(const fs::path& folder, const fs::path& cache_root) {
  const fs::path root = fs::canonical(cache_root);
  for (const fs::path& entry : entries_of(folder)) {
    std::error_code error;
    const fs::path target = fs::canonical(entry, error);
    if (error) {
      fail(QUENCH_DATA_LOSS, "{}: links to a file that does not exist ({})",
           printable(entry.string(), 4096), error.message());
    }
    if (!is_under(target, root)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: links to {}, outside the cache {}",
           printable(entry.string(), 4096), printable(target.string(), 4096), root.string());
    }
    if (!fs::is_regular_file(target, error)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: not a regular file", printable(entry.string(), 4096));
    }
  }
}

}  // namespace quench
