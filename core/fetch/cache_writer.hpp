// Writes the Hugging Face cache as the Python client lays it out:
//
//   models--org--name/blobs/HASH                what files hold, under its hash
//   models--org--name/snapshots/COMMIT/PATH     a relative link to a blob
//   models--org--name/refs/NAME                 the commit that a branch or a tag is at
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/fetch/hub_api.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

// Blobs come first, then a whole snapshot of links, then the name: a kill leaves no snapshot that
// lacks a file of its own. Errors name the path, as those of AtomicFile.
class CacheWriter {
 public:
  CacheWriter(std::filesystem::path root, const HubSpec& repository);

  const std::filesystem::path& folder() const { return folder_; }  // of the repository
  std::filesystem::path blobs() const { return folder_ / "blobs"; }
  // Whether the file is there with its size. Its content is compared where it is used.
  bool has(const HubFile& file) const;
  // Whether all files are there, and the snapshot links to them.
  bool has_snapshot(const std::string& commit, const std::vector<HubFile>& files) const;
  // Whether the name leads to this commit; a commit is its own name.
  bool has_reference(const std::string& name, const std::string& commit) const;
  // Makes the folders, and the mark with which backup programs leave a cache out. Removes what
  // killed processes left and nobody can use.
  void open() const;
  // Links all files, whose blobs are there. A snapshot that exists gets what it lacks.
  void add_snapshot(const std::string& commit, const std::vector<HubFile>& files) const;
  void set_reference(const std::string& name, const std::string& commit) const;

 private:
  std::filesystem::path root_;
  std::filesystem::path folder_;
};

}  // namespace quench
