#include "core/hub/blob.hpp"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/io/file.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/snapshot.hpp"
#include "core/store/fingerprints.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

struct Blob {
  fs::path file;           // with all links resolved
  std::string hash;        // the hash that is its name
  std::string repository;  // "hf://org/name", for messages
};

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
  if (error || !is_blob_hash(name) || !is_under(file, root) || !fs::is_regular_file(file, error)) {
    return std::nullopt;
  }
  const fs::path folder = fs::canonical(path.parent_path(), error);  // a store may be shared
  return Blob{file, name, repository_at(is_under(folder, root) ? folder : file, root)};
}

std::string fault_of(const Blob& blob, const std::string& measured) {
  return fmt::format(
      "{}: damaged: content has hash {}, its name in the cache of {} says {}: remove "
      "this file and download it again",
      printable(blob.file.string(), 4096), measured, blob.repository, blob.hash);
}

void check(const Blob& blob, const Fingerprints& memory, const std::atomic<bool>* cancel) {
  const File file(blob.file);
  const nlohmann::json question = {{"blob", blob.hash}};
  if (memory.find(question, {blob.file}) == blob.hash) {
    return;
  }
  const Fingerprints::Stamp before = memory.look(question, {blob.file});
  const std::string measured = blob_hash(blob.hash, file, cancel);
  if (measured != blob.hash) {
    fail(QUENCH_DATA_LOSS, "{}", fault_of(blob, measured));
  }
  memory.remember(before, measured);
}

std::vector<fs::path> files_at(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? entries_below(path) : std::vector<fs::path>{path};
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
    const std::string measured = blob_hash(blob->hash, File(blob->file), cancel);
    if (measured != blob->hash) {
      out.faults.push_back(fault_of(*blob, measured));
    }
  }
  return out;
}

}  // namespace quench
