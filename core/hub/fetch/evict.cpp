#include "core/hub/fetch/evict.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/claim.hpp"

namespace quench {

namespace fs = std::filesystem;

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
  DownloadLedger::Blobs unwanted = ledger.present(root, repository);
  std::erase_if(unwanted, [&](const auto& each) {
    return !each.second.holds_weights || !are_among(each.second.commits, commits);
  });
  if (unwanted.empty()) {
    return 0;
  }
  const RepositoryLock lock(cached.folder());
  const OtherClaims others(cached.folder());
  const auto links = links_of(cached.snapshots());
  uint64_t bytes = 0;
  for (const auto& [hash, blob] : unwanted) {
    const auto found = links.find(hash);
    const std::vector<Link> here = found != links.end() ? found->second : std::vector<Link>();
    const auto kept = [&](const std::string& commit) {
      return !commits.contains(commit) || others.contain(commit);
    };
    if (std::any_of(blob.commits.begin(), blob.commits.end(), kept) ||
        std::any_of(here.begin(), here.end(),
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
