#include "core/hub/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/passing_fault.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

// The files that an index of shards names. One that cannot be read is reported when it is opened.
std::set<std::string> shards_of(const fs::path& index) {
  constexpr uint64_t kMaxIndex = uint64_t{64} << 20;
  std::set<std::string> shards;
  try {
    const nlohmann::json document = parse_json(read_file(index, kMaxIndex), index.string());
    for (const auto& [tensor, shard] : document.at("weight_map").items()) {
      shards.insert(shard.get<std::string>());
    }
  } catch (const std::exception&) {
    return {};
  }
  return shards;
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
    any = any || holds_weights(it->path());
  }
  return any && missing_weights(folder).empty();
}

std::string missing_weights(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  if (is_passing_fault(error.value())) {
    fail(QUENCH_UNAVAILABLE, "{}: cannot be listed: {}", printable(folder.string(), 4096),
         error.message());
  }
  std::sort(entries.begin(), entries.end());
  std::string link;
  std::string shard;
  for (const fs::path& entry : entries) {
    std::error_code unseen;
    if (entry.filename() == "model.safetensors" && exists_at(entry)) {
      return "";  // opened before all others
    }
    if (link.empty() && holds_weights(entry) && fs::is_symlink(entry, unseen) &&
        !exists_at(entry)) {
      link =
          fmt::format("{}: links to a file that does not exist", printable(entry.string(), 4096));
    }
    if (!entry.filename().string().ends_with(".index.json")) {
      continue;
    }
    const std::set<std::string> shards = shards_of(entry);
    const auto is_here = [&](const std::string& name) { return exists_at(folder / name); };
    const auto missing = std::find_if_not(shards.begin(), shards.end(), is_here);
    if (missing == shards.end() && !shards.empty()) {
      return "";  // one whole set is enough, whatever another tool left of another format
    }
    if (shard.empty() && std::any_of(shards.begin(), shards.end(), is_here)) {
      shard = fmt::format("{}: names {}, which is not beside it", printable(entry.string(), 4096),
                          printable(*missing));
    }
  }
  return link.empty() ? shard : link;  // a link that leads nowhere explains more
}

}  // namespace quench
