#include "core/hub/cached_repository.hpp"

#include <algorithm>
#include <system_error>

#include "core/base/io/file.hpp"
#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kModels = "models--";
constexpr std::string_view kDatasets = "datasets--";

}  // namespace

CachedRepository::CachedRepository(const fs::path& root, const HubSpec& repository) {
  std::string name = repository.repository;
  if (const size_t slash = name.find('/'); slash != std::string::npos) {
    name.replace(slash, 1, "--");
  }
  folder_ = root / (std::string(repository.dataset ? kDatasets : kModels) + name);
}

std::string near_repository(const fs::path& root, const HubSpec& repository) {
  constexpr size_t kMostNames = 100'000;
  const std::string_view start = repository.dataset ? kDatasets : kModels;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end;
       !error && it != end && names.size() < kMostNames; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(start)) {
      name.erase(0, start.size());
      if (const size_t dashes = name.find("--"); dashes != std::string::npos) {
        name.replace(dashes, 2, "/");
      }
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  const std::string near = nearest(repository.repository, names);
  return near.empty() || near == repository.repository
             ? ""
             : fmt::format("; did you mean hf://{}{}?", repository.dataset ? "datasets/" : "",
                           printable(near));
}

std::optional<std::string> CachedRepository::commit_of(const std::string& revision) const {
  if (is_commit(revision)) {
    return revision;
  }
  const fs::path reference = references() / revision;
  std::error_code error;
  if (!fs::is_regular_file(reference, error)) {
    return std::nullopt;
  }
  std::string commit = read_file(reference, 1024);
  commit.erase(commit.find_last_not_of(" \r\n") + 1);
  return commit;
}

std::vector<std::string> CachedRepository::revisions() const {
  constexpr size_t kMaxRevisions = 100'000;
  std::vector<std::string> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(references(), error), end;
       !error && it != end && out.size() < kMaxRevisions; it.increment(error)) {
    if (it->is_regular_file(error)) {
      out.push_back(it->path().lexically_relative(references()).string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool CachedRepository::has(const HubFile& file) const {
  std::error_code error;
  return fs::is_regular_file(blob(file.hash), error) &&
         fs::file_size(blob(file.hash), error) == file.size;
}

bool CachedRepository::is_linked(const std::string& commit, const HubFile& file) const {
  std::error_code error;
  const fs::path target = fs::canonical(snapshot(commit) / file.path, error);
  return !error && target.filename() == file.hash;
}

bool CachedRepository::has_snapshot(const std::string& commit,
                                    const std::vector<HubFile>& files) const {
  return std::all_of(files.begin(), files.end(),
                     [&](const HubFile& file) { return has(file) && is_linked(commit, file); });
}

std::string repository_at(const fs::path& path, const fs::path& root) {
  const fs::path inside = path.lexically_relative(root);
  std::string name = inside.empty() ? "" : inside.begin()->string();
  const bool dataset = name.starts_with(kDatasets);
  if (!dataset && !name.starts_with(kModels)) {
    return "the hub's cache";
  }
  name.erase(0, (dataset ? kDatasets : kModels).size());
  if (const size_t slash = name.find("--"); slash != std::string::npos) {
    name.replace(slash, 2, "/");
  }
  return (dataset ? "hf://datasets/" : "hf://") + printable(name);
}

bool is_under(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace quench
