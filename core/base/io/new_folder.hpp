// A folder that appears completely or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/lease.hpp"

namespace quench {

// Identifies the folder that a name refers to.
struct FolderIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FolderIdentity&) const = default;
};

// Files are written into temporary(), a hidden folder beside `path`; commit() renames it to `path`.
// Without commit() the destructor removes it with its content.
//
// The temporary folder has a lease (lease.hpp): the writer keeps touching it, and the next process
// that writes beside `path` removes what ended and silent ones left there.
class NewFolder {
 public:
  enum class Existing { kRefused, kMayBeReplaced };

  // `mode`: of the temporary folder. Throws Error: FAILED_PRECONDITION if something exists at
  // `path` and `existing` refuses it; otherwise like AtomicFile.
  explicit NewFolder(const std::filesystem::path& path, Existing existing = Existing::kRefused,
                     mode_t mode = 0777);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  // Writers of files in temporary() enter them here. A folder in which one of these files is
  // missing or has another size never gets its name.
  WrittenFiles& files() { return files_; }

  // Syncs the folder, renames it and syncs its parent; its files must be durable already. Throws
  // Error: FAILED_PRECONDITION if something exists at path() by now, DATA_LOSS if files() differ
  // from what was written.
  void commit();
  // Like commit, but returns false and does nothing if something exists at path().
  bool commit_if_absent();
  // Takes the place of `old` at path() and removes `old`. The name always refers to a whole folder,
  // except where the file system cannot exchange two names: there it is missing for a moment.
  // Returns false and keeps the folder at path() if it is not `old` any more. Throws like commit.
  bool replace(const FolderIdentity& old);

 private:
  void check_whole() const;
  void sync_parent() const;
  bool exchange();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty after the rename
  WrittenFiles files_;
  int descriptor_ = -1;       // descriptor of the temporary folder
  std::optional<Beat> beat_;  // touches the temporary folder
};

// The folder at `path`, not following links; nothing if it is no folder.
std::optional<FolderIdentity> identity_of_folder(const std::filesystem::path& path);

}  // namespace quench
