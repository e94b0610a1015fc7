#include "core/hub/resolve.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/snapshot.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

std::string how_to_get(const std::string& spec) {
  return "get it with: quench fetch " + printable(spec);
}

[[noreturn]] void fail_not_cached(const std::string& spec, const HubSpec& parsed,
                                  const CachedRepository& repository) {
  const std::vector<std::string> revisions = repository.revisions();
  constexpr size_t kShown = 8;
  std::string there;
  for (size_t i = 0; i < std::min(revisions.size(), kShown); ++i) {
    there += (i == 0 ? "" : ", ") + printable(revisions[i]);
  }
  if (revisions.size() > kShown) {
    there += fmt::format(" and {} more", revisions.size() - kShown);
  }
  const std::string close = nearest(parsed.revision, revisions);
  fail(QUENCH_NOT_FOUND, "{}: revision '{}' is not in the cache {} (there: {}){}; {}",
       printable(spec), printable(parsed.revision), repository.folder().string(),
       there.empty() ? "none" : there,
       close.empty() ? "" : ", nearest is '" + printable(close) + "'", how_to_get(spec));
}

// Returns the commit of a revision, or "" if there is none.
std::string find_commit(const HubSpec& parsed, const CachedRepository& repository,
                        const std::string& spec) {
  const std::optional<std::string> commit = repository.commit_of(parsed.revision);
  if (commit && !is_commit(*commit)) {
    fail(QUENCH_DATA_LOSS, "{}: {} holds '{}', wanted a commit of 40 hexadecimal digits",
         printable(spec), (repository.references() / parsed.revision).string(),
         printable(*commit, 60));
  }
  return commit.value_or("");
}

}  // namespace

ResolvedModel resolve(const std::string& spec, const HubEnvironment& environment) {
  const HubSpec parsed = parse_hub_spec(spec);
  const fs::path root = hub_cache_root(environment);
  const CachedRepository repository(root, parsed);
  std::error_code error;
  if (!fs::is_directory(repository.folder(), error)) {
    fail(QUENCH_NOT_FOUND, "{}: '{}' is not in the cache {}{}; {}", printable(spec),
         parsed.repository, root.string(), near_repository(root, parsed), how_to_get(spec));
  }
  const std::string commit = find_commit(parsed, repository, spec);
  if (commit.empty()) {
    fail_not_cached(spec, parsed, repository);
  }
  const fs::path folder = repository.snapshot(commit);
  if (!fs::is_directory(folder, error)) {
    if (commit == parsed.revision) {
      fail_not_cached(spec, parsed, repository);
    }
    fail(QUENCH_NOT_FOUND,
         "{}: revision '{}' is commit {}, whose files are not in the cache {}; {}", printable(spec),
         printable(parsed.revision), commit, repository.folder().string(), how_to_get(spec));
  }
  check_snapshot(folder, root);
  if (!parsed.file.empty() && !fs::is_regular_file(folder / parsed.file, error)) {
    fail(QUENCH_NOT_FOUND, "{}: file '{}' is not in the cache {}; {}", printable(spec),
         printable(parsed.file), folder.string(), how_to_get(spec));
  }
  return {folder, parsed.repository, parsed.revision, commit, parsed.file};
}

std::string known_commit(const std::string& spec, const HubEnvironment& environment) {
  const HubSpec parsed = parse_hub_spec(spec);
  return find_commit(parsed, CachedRepository(hub_cache_root(environment), parsed), spec);
}

std::string near_cached(const std::string& spec, const HubEnvironment& environment) {
  return near_repository(hub_cache_root(environment), parse_hub_spec(spec));
}

std::vector<std::string> cached_revisions(const std::string& spec,
                                          const HubEnvironment& environment) {
  return CachedRepository(hub_cache_root(environment), parse_hub_spec(spec)).revisions();
}

}  // namespace quench
