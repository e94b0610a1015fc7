#include "core/hub/snapshot.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

// Whether all files that an index of shards names are beside it. One that cannot be read is
// reported when it is opened.
bool has_shards(const fs::path& index) {
  constexpr uint64_t kMaxIndex = uint64_t{64} << 20;
  try {
    const nlohmann::json document = parse_json(read_file(index, kMaxIndex), index.string());
    for (const auto& [tensor, shard] : document.at("weight_map").items()) {
      std::error_code error;
      if (!fs::exists(index.parent_path() / shard.get<std::string>(), error)) {
        return false;
      }
    }
  } catch (const std::exception&) {
    return true;
  }
  return true;
}

}  // namespace

std::vector<fs::path> entries_below(const fs::path& folder) {
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

void check_snapshot(const fs::path& folder, const fs::path& cache_root) {
  const fs::path root = fs::canonical(cache_root);
  for (const fs::path& entry : entries_below(folder)) {
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

bool holds_weights(const fs::path& file) {
  constexpr const char* kEndings[] = {".safetensors", ".bin", ".pth", ".pt", ".gguf"};
  return std::find(std::begin(kEndings), std::end(kEndings), file.extension()) !=
         std::end(kEndings);
}

bool has_weights(const fs::path& folder) {
  bool any = false;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& path = it->path();
    if (path.filename().string().ends_with(".index.json") && !has_shards(path)) {
      return false;
    }
    any = any || holds_weights(path);
  }
  return any;
}

}  // namespace quench
