// A repository in the Hugging Face cache, as the Python client lays it out; nothing else knows its
// folders:
//
//   models--org--name/blobs/HASH                what files hold, under its hash
//   models--org--name/snapshots/COMMIT/PATH     a relative link to a blob
//   models--org--name/refs/NAME                 the commit that a branch or a tag is at
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/hub/hub_file.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

class CachedRepository {
 public:
  // `root`: of the cache. Nothing of it need exist.
  CachedRepository(const std::filesystem::path& root, const HubSpec& repository);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path blobs() const { return folder_ / "blobs"; }
  std::filesystem::path blob(const std::string& hash) const { return blobs() / hash; }
  std::filesystem::path snapshots() const { return folder_ / "snapshots"; }
  std::filesystem::path snapshot(const std::string& commit) const { return snapshots() / commit; }
  std::filesystem::path references() const { return folder_ / "refs"; }

  // What a revision leads to: itself if it is a commit, else what its reference holds, which is
  // not checked; nothing if there is none.
  std::optional<std::string> commit_of(const std::string& revision) const;
  // The names of all references, sorted; they may contain slashes.
  std::vector<std::string> revisions() const;

  // Whether the file is there with its size. Its content is compared where it is used.
  bool has(const HubFile& file) const;
  // Whether the snapshot's link leads to the file's blob, by whatever layout.
  bool is_linked(const std::string& commit, const HubFile& file) const;
  // What such a link holds: "../../blobs/HASH", with more steps up for a file in a folder.
  std::filesystem::path link_target(const std::string& commit, const HubFile& file) const {
    return blob(file.hash).lexically_relative((snapshot(commit) / file.path).parent_path());
  }
  // Whether all files are there, and the snapshot links to them.
  bool has_snapshot(const std::string& commit, const std::vector<HubFile>& files) const;

 private:
  std::filesystem::path folder_;
};

// "; did you mean hf://org/name?" of a repository that is in the cache under a name much like this
// one, else "".
std::string near_repository(const std::filesystem::path& root, const HubSpec& repository);

// The repository, "hf://org/name", that a path in the cache belongs to, ready for messages.
std::string repository_at(const std::filesystem::path& path, const std::filesystem::path& root);

// Whether `path` lies below `folder`; both have all links resolved.
bool is_under(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace quench
