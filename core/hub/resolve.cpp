#include "core/hub/resolve.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/hub/snapshot.hpp"
#include "core/io/file.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScheme = "hf://";

[[noreturn]] void refuse(const std::string& spec, const char* what) {
  fail(QUENCH_INVALID_ARGUMENT,
       "{}: {}, expected hf://org/name@revision or hf://datasets/org/name/file@revision",
       printable(spec), what);
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (;;) {
    const size_t slash = path.find('/', at);
    parts.push_back(path.substr(at, slash - at));
    if (slash == std::string::npos) {
      return parts;
    }
    at = slash + 1;
  }
}

// Whether the path has plain names only, so that it stays inside a folder it is appended to.
bool is_inside(const std::string& path) {
  const std::vector<std::string> parts = split(path);
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    const bool plain = std::all_of(part.begin(), part.end(), [](char byte) {
      return static_cast<unsigned char>(byte) >= 0x20 && byte != '\\' && byte != 0x7F;
    });
    return plain && !part.empty() && part.size() <= 255 && part != "." && part != "..";
  });
}

// Whether the hub accepts `name` for an organisation or a repository.
bool is_repository_name(const std::string& name) {
  return !name.empty() && name.size() <= 96 && name.front() != '.' && name.front() != '-' &&
         name.find("..") == std::string::npos && name.find("--") == std::string::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

fs::path repository_folder(const HubSpec& spec, const fs::path& root) {
  std::string name = spec.dataset ? "datasets" : "models";
  for (const std::string& part : split(spec.repository)) {
    name += "--" + part;
  }
  return root / name;
}

// Returns the names of all files under refs/, sorted.
std::vector<std::string> cached_revisions(const fs::path& repository) {
  constexpr size_t kMaxRevisions = 100'000;
  std::vector<std::string> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(repository / "refs", error), end;
       !error && it != end && out.size() < kMaxRevisions; it.increment(error)) {
    if (it->is_regular_file(error)) {
      out.push_back(it->path().lexically_relative(repository / "refs").string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

[[noreturn]] void fail_not_cached(const std::string& spec, const HubSpec& parsed,
                                  const fs::path& repository) {
  const std::vector<std::string> revisions = cached_revisions(repository);
  constexpr size_t kShown = 8;
  std::string there;
  for (size_t i = 0; i < std::min(revisions.size(), kShown); ++i) {
    there += (i == 0 ? "" : ", ") + printable(revisions[i]);
  }
  if (revisions.size() > kShown) {
    there += fmt::format(" and {} more", revisions.size() - kShown);
  }
  const std::string close = nearest(parsed.revision, revisions);
  fail(QUENCH_NOT_FOUND, "{}: revision '{}' is not in the cache {} (there: {}){}", printable(spec),
       printable(parsed.revision), repository.string(), there.empty() ? "none" : there,
       close.empty() ? "; download it first" : ", nearest is '" + printable(close) + "'");
}

// Returns the commit of a revision, or "" if there is none.
std::string find_commit(const HubSpec& parsed, const fs::path& repository,
                        const std::string& spec) {
  if (is_commit(parsed.revision)) {
    return parsed.revision;
  }
  const fs::path reference = repository / "refs" / parsed.revision;
  std::error_code error;
  if (!fs::is_regular_file(reference, error)) {
    return "";
  }
  std::string commit = read_file(reference, 1024);
  commit.erase(commit.find_last_not_of(" \r\n") + 1);
  if (!is_commit(commit)) {
    fail(QUENCH_DATA_LOSS, "{}: {} holds '{}', expected a commit of 40 hexadecimal digits",
         printable(spec), reference.string(), printable(commit, 60));
  }
  return commit;
}

}  // namespace

HubSpec parse_hub_spec(const std::string& spec) {
  if (!spec.starts_with(kScheme)) {
    refuse(spec, "does not begin with hf://");
  }
  std::string rest = spec.substr(kScheme.size());
  HubSpec out;
  const size_t at = rest.find('@');
  out.revision = at == std::string::npos ? "main" : rest.substr(at + 1);
  rest.resize(std::min(at, rest.size()));
  if (!is_inside(out.revision)) {
    refuse(spec, "bad revision");
  }
  if (rest.starts_with("datasets/")) {
    out.dataset = true;
    rest.erase(0, std::string_view("datasets/").size());
  }
  const std::vector<std::string> parts = split(rest);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i < 2) {
      if (!is_repository_name(parts[i])) {
        refuse(spec, "bad repository name");
      }
      out.repository += (i == 0 ? "" : "/") + parts[i];
    } else {
      out.file += (i == 2 ? "" : "/") + parts[i];
    }
  }
  if (parts.size() > 2 && !is_inside(out.file)) {
    refuse(spec, "bad file name");
  }
  return out;
}

ResolvedModel resolve(const std::string& spec, const HubEnvironment& environment) {
  const HubSpec parsed = parse_hub_spec(spec);
  const fs::path root = hub_cache_root(environment);
  const fs::path repository = repository_folder(parsed, root);
  std::error_code error;
  if (!fs::is_directory(repository, error)) {
    fail(QUENCH_NOT_FOUND, "{}: '{}' is not in the cache {}; download it first", printable(spec),
         parsed.repository, root.string());
  }
  const std::string commit = find_commit(parsed, repository, spec);
  if (commit.empty()) {
    fail_not_cached(spec, parsed, repository);
  }
  const fs::path folder = repository / "snapshots" / commit;
  if (!fs::is_directory(folder, error)) {
    if (commit == parsed.revision) {
      fail_not_cached(spec, parsed, repository);
    }
    fail(QUENCH_NOT_FOUND, "{}: revision '{}' is commit {}, whose files are not in the cache {}",
         printable(spec), printable(parsed.revision), commit, repository.string());
  }
  check_snapshot(folder, root);
  if (!parsed.file.empty() && !fs::is_regular_file(folder / parsed.file, error)) {
    fail(QUENCH_NOT_FOUND, "{}: file '{}' is not in the cache {}", printable(spec),
         printable(parsed.file), folder.string());
  }
  return {folder, parsed.repository, parsed.revision, commit, parsed.file};
}

std::vector<std::string> cached_revisions(const std::string& spec,
                                          const HubEnvironment& environment) {
  return cached_revisions(repository_folder(parse_hub_spec(spec), hub_cache_root(environment)));
}

}  // namespace quench
