// A folder that appears completely or not at all.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "core/io/written_files.hpp"

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
// It takes no locks: some network file systems grant a lock to everybody, and then another
// process could remove a folder during writing. The name of a temporary folder states which
// process on which machine writes it, and the writer keeps touching the folder. The next process
// that writes beside `path` removes what killed processes left there, if the writer has ended on
// this machine or the folder was not touched for a day. Only the file server's clock decides
// that.
class NewFolder {
 public:
  enum class Existing { kRefused, kMayBeReplaced };

  // Throws Error: FAILED_PRECONDITION if something exists at `path` and `existing` refuses it;
  // otherwise like AtomicFile.
  explicit NewFolder(const std::filesystem::path& path, Existing existing = Existing::kRefused);
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
  void keep_alive();
  void stop();
  void check_whole() const;
  void sync_parent() const;
  bool exchange();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty after the rename
  WrittenFiles files_;
  int descriptor_ = -1;  // descriptor of the temporary folder
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;  // touches the temporary folder
};

// The folder at `path`, not following links; nothing if it is no folder.
std::optional<FolderIdentity> identity_of_folder(const std::filesystem::path& path);

// Removes the temporary folders in `parent` whose processes are known to have ended.
void remove_ended(const std::filesystem::path& parent);

// Whether `folder` is a temporary folder that no process works on any more, at `now_seconds` of the
// file system's clock.
bool is_abandoned(const std::filesystem::path& folder, int64_t now_seconds);

}  // namespace quench
