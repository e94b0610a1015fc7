#include "core/hub/fetch/download_ledger.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/descriptor.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/claim.hpp"
#include "core/hub/fetch/incomplete_blob.hpp"
#include "core/hub/snapshot.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxLedger = uint64_t{1} << 30;
constexpr int64_t kSecond = 1'000'000'000;

struct Download {
  std::string repository;
  std::string commit;
  HubFile file;
  FileIdentity identity;
};

// A run folder may be somebody else's, and its seals are no secret: what a line names becomes paths
// that are removed, so it is checked as a hub's reply is.
Download download_from(std::string_view body, const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    fail(QUENCH_DATA_LOSS,
         "{}: quench did not write this line: {}; move the file away, and what it lists stays in "
         "the cache",
         where, what);
  };
  Download out;
  try {
    const nlohmann::json entry = parse_json(body, "it");
    entry.at("repository").get_to(out.repository);
    entry.at("commit").get_to(out.commit);
    out.file = hub_file_from(entry);
    out.identity.device = entry.at("device").get<uint64_t>();
    out.identity.inode = entry.at("inode").get<uint64_t>();
    out.identity.size = out.file.size;
    out.identity.modified_ns = entry.at("modified_ns").get<int64_t>();
    if (repository_text(parse_hub_spec(out.repository)) != out.repository) {
      refuse(fmt::format("its repository is '{}'", printable(out.repository)));
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(error.what());
  } catch (const Error& error) {
    refuse(error.what());
  }
  if (!is_commit(out.commit)) {
    refuse(fmt::format("its commit is '{}'", printable(out.commit)));
  }
  return out;
}

}  // namespace

DownloadLedger::DownloadLedger(fs::path file) : file_(std::move(file)) {
  if (!fs::exists(file_)) {
    return;
  }
  std::istringstream lines(read_appended_file(file_, kMaxLedger));
  uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const Unsealed unsealed = unseal("download", line);
    if (unsealed.fault != nullptr) {
      continue;  // a kill cut it short: its file has no name yet
    }
    const Download read =
        download_from(unsealed.body, fmt::format("{}:{}", file_.string(), number));
    add(read.repository, read.commit, read.file.path, read.file.hash, read.identity);
  }
}

void DownloadLedger::arrived(const HubSpec& repository, const std::string& commit,
                             const HubFile& file, const FileIdentity& identity) {
  const std::string name = repository_text(repository);
  const std::string where = file_.string();
  nlohmann::json entry = to_json(file);
  entry.update({{"repository", name},
                {"commit", commit},
                {"device", identity.device},
                {"inode", identity.inode},
                {"modified_ns", identity.modified_ns}});
  const std::string body = canonical_json(entry);
  download_from(body, where);  // a line that a later run refuses would stop it
  make_folders(fs::absolute(file_).parent_path());
  const Descriptor ledger(open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!ledger) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: opening failed: {}", file_.string(),
         std::generic_category().message(errno));
  }
  // The newline first ends a line that a kill cut short.
  const std::string line = "\n" + seal("download", body) + "\n";
  write_all(ledger.get(), line.data(), line.size(), file_);
  if (fsync(ledger.get()) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: syncing failed: {}", file_.string(),
         std::generic_category().message(errno));
  }
  add(name, commit, file.path, file.hash, identity);
}

void DownloadLedger::add(const std::string& repository, const std::string& commit,
                         const std::string& path, const std::string& hash, FileIdentity identity) {
  identity.changed_ns = 0;
  Blob& blob = blobs_[repository][hash];
  blob.arrivals.insert(identity);
  blob.commits.insert(commit);
  blob.holds_weights = blob.holds_weights || quench::holds_weights(path);
}

DownloadLedger::Blobs DownloadLedger::present(const fs::path& root,
                                              const HubSpec& repository) const {
  const CachedRepository cached(root, repository);
  Blobs out;
  const auto found = blobs_.find(repository_text(repository));
  for (const auto& [hash, blob] : found != blobs_.end() ? found->second : Blobs()) {
    const auto identity = identity_of(cached.blob(hash));
    if (identity && blob.arrivals.contains(*identity)) {
      out[hash] = {{*identity}, blob.commits, blob.holds_weights};
    }
  }
  return out;
}

std::optional<FileIdentity> DownloadLedger::identity_of(const fs::path& file) {
  struct stat status = {};
  if (lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  FileIdentity identity;
  identity.device = status.st_dev;
  identity.inode = status.st_ino;
  identity.size = static_cast<uint64_t>(status.st_size);
  identity.modified_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  return identity;
}

namespace {

struct Link {
  fs::path path;
  std::string commit;
};

// The links to each blob (by name) from all snapshots.
std::map<std::string, std::vector<Link>> links_of(const fs::path& snapshots) {
  std::map<std::string, std::vector<Link>> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(snapshots, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_symlink(error)) {
      continue;
    }
    std::error_code broken;
    const fs::path target = fs::read_symlink(it->path(), broken);
    if (!broken) {
      const fs::path inside = it->path().lexically_relative(snapshots);
      out[target.filename().string()].push_back({it->path(), inside.begin()->string()});
    }
  }
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", snapshots.string(),
         error.message());
  }
  return out;
}

bool are_among(const std::set<std::string>& some, const std::set<std::string>& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

void remove_file(const fs::path& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: removing it failed: {}", path.string(),
         std::generic_category().message(errno));
  }
}

}  // namespace

uint64_t evict_weights(const fs::path& root, const HubSpec& repository,
                       const std::set<std::string>& commits, const DownloadLedger& ledger) {
  const CachedRepository cached(root, repository);
  remove_dead_claims(cached.folder());
  const auto all = ledger.all().find(repository_text(repository));
  if (all == ledger.all().end()) {
    return 0;
  }
  const RepositoryLock lock(cached.folder());
  const OtherClaims others(cached.folder());
  const auto kept = [&](const std::string& commit) {
    return !commits.contains(commit) || others.contain(commit);
  };
  const auto is_wanted = [&](const auto& each) {
    const DownloadLedger::Blob& blob = each.second;
    return !blob.holds_weights || std::any_of(blob.commits.begin(), blob.commits.end(), kept);
  };
  std::set<std::string> left;
  for (const auto& each : all->second) {
    if (!is_wanted(each)) {
      left.insert(each.first);
    }
  }
  remove_unwanted_leftovers(cached.blobs(), left);
  DownloadLedger::Blobs unwanted = ledger.present(root, repository);
  std::erase_if(unwanted, is_wanted);
  if (unwanted.empty()) {
    return 0;
  }
  const auto links = links_of(cached.snapshots());
  uint64_t bytes = 0;
  for (const auto& [hash, blob] : unwanted) {
    const auto found = links.find(hash);
    const std::vector<Link> here = found != links.end() ? found->second : std::vector<Link>();
    if (std::any_of(here.begin(), here.end(),
                    [&](const Link& link) { return kept(link.commit); })) {
      continue;
    }
    for (const Link& link : here) {
      remove_file(link.path);
    }
    remove_file(cached.blob(hash));
    bytes += blob.arrivals.begin()->size;
  }
  return bytes;
}

uint64_t bytes_held(const fs::path& root, const HubSpec& repository,
                    const std::set<std::string>& released, const DownloadLedger& ledger) {
  uint64_t bytes = 0;
  for (const auto& [hash, blob] : ledger.present(root, repository)) {
    const bool left = blob.holds_weights && are_among(blob.commits, released);
    bytes += left ? 0 : blob.arrivals.begin()->size;
  }
  return bytes;
}

}  // namespace quench
