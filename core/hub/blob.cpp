#include "core/hub/blob.hpp"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/io/file.hpp"
#include "core/io/sha256.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr size_t kSha256Digits = 64;
constexpr size_t kGitDigits = 40;

struct Blob {
  fs::path file;           // with all links resolved
  std::string hash;        // the hash that is its name
  std::string repository;  // "hf://org/name", for messages
};

// The repository whose folder (models--org--name or datasets--org--name) of the cache holds `path`.
std::string repository_of(const fs::path& path, const fs::path& root) {
  const fs::path inside = path.lexically_relative(root);
  std::string name = inside.empty() ? "" : inside.begin()->string();
  const bool dataset = name.starts_with("datasets--");
  const size_t prefix = name.find("--");
  if (prefix == std::string::npos || (!dataset && !name.starts_with("models--"))) {
    return "the hub's cache";
  }
  name.erase(0, prefix + 2);
  if (const size_t slash = name.find("--"); slash != std::string::npos) {
    name.replace(slash, 2, "/");
  }
  return (dataset ? "hf://datasets/" : "hf://") + printable(name);
}

bool is_under(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// The cache root with all links resolved, or nothing if there is no cache.
std::optional<fs::path> root_of(const HubEnvironment& environment) {
  try {
    return fs::canonical(hub_cache_root(environment));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<Blob> blob_at(const fs::path& path, const fs::path& root) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  const std::string name = file.filename().string();
  if (error || (name.size() != kSha256Digits && name.size() != kGitDigits) ||
      name.find_first_not_of("0123456789abcdef") != std::string::npos || !is_under(file, root) ||
      !fs::is_regular_file(file, error)) {
    return std::nullopt;
  }
  const fs::path folder = fs::canonical(path.parent_path(), error);  // a store may be shared
  return Blob{file, name, repository_of(is_under(folder, root) ? folder : file, root)};
}

// Computes the hash of the blob's content.
std::string measure(const Blob& blob, const File& file, const std::atomic<bool>* cancel) {
  return blob.hash.size() == kSha256Digits ? sha256_of(file, cancel) : git_blob_id(file, cancel);
}

std::string fault_of(const Blob& blob, const std::string& measured) {
  return fmt::format(
      "{}: damaged: content has hash {}, its name in the cache of {} says {}: remove "
      "this file and download it again",
      printable(blob.file.string(), 4096), measured, blob.repository, blob.hash);
}

// Remembers the blobs that this process found intact.
class Intact {
 public:
  bool contains(const std::string& hash, const FileIdentity& identity) {
    const std::lock_guard lock(mutex_);
    return known_.contains({hash, identity});
  }
  void add(const std::string& hash, const FileIdentity& identity) {
    const std::lock_guard lock(mutex_);
    known_.emplace(hash, identity);
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<std::string, FileIdentity>> known_;
};

void check(const Blob& blob, const Fingerprints& memory, const std::atomic<bool>* cancel) {
  static Intact intact;
  const File file(blob.file);
  if (intact.contains(blob.hash, file.identity())) {
    return;
  }
  const nlohmann::json question = {{"blob", blob.hash}};
  if (memory.find(question, {blob.file}) != blob.hash) {
    const Fingerprints::Stamp before = memory.look(question, {blob.file});
    const std::string measured = measure(blob, file, cancel);
    if (measured != blob.hash) {
      fail(QUENCH_DATA_LOSS, "{}", fault_of(blob, measured));
    }
    memory.remember(before, measured);
  }
  intact.add(blob.hash, file.identity());
}

// Sorted; at most as many files as a snapshot may have (see check_snapshot).
std::vector<fs::path> files_at(const fs::path& path) {
  constexpr size_t kMaxFiles = 100'000;
  std::vector<fs::path> out;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return {path};
  }
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (!it->is_directory(gone)) {
      out.push_back(it->path());
    }
    if (out.size() > kMaxFiles) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: more than {} files", path.string(), kMaxFiles);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void check_blob(const fs::path& path, const HubEnvironment& environment,
                const std::atomic<bool>* cancel) {
  const std::optional<fs::path> root = root_of(environment);
  const std::optional<Blob> blob = root ? blob_at(path, *root) : std::nullopt;
  if (blob) {
    check(*blob, Fingerprints(environment.memory), cancel);
  }
}

bool is_blob(const fs::path& path, const HubEnvironment& environment) {
  const std::optional<fs::path> root = root_of(environment);
  return root && blob_at(path, *root);
}

void check_blobs(const fs::path& path, const HubEnvironment& environment,
                 const std::atomic<bool>* cancel) {
  const std::optional<fs::path> root = root_of(environment);
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (!root || error || !is_under(target, *root)) {
    return;  // a folder outside the hub's cache is not listed
  }
  for (const fs::path& file : files_at(path)) {
    check_blob(file, environment, cancel);
  }
}

BlobReport verify_blobs(const fs::path& path, const HubEnvironment& environment,
                        const std::atomic<bool>* cancel) {
  BlobReport out;
  const std::optional<fs::path> root = root_of(environment);
  for (const fs::path& file : root ? files_at(path) : std::vector<fs::path>()) {
    const std::optional<Blob> blob = blob_at(file, *root);
    if (!blob) {
      continue;
    }
    ++out.checked;
    const std::string measured = measure(*blob, File(blob->file), cancel);
    if (measured != blob->hash) {
      out.faults.push_back(fault_of(*blob, measured));
    }
  }
  return out;
}

}  // namespace quench
