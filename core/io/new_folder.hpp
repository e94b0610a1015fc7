// A folder that is there completely or not at all.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "core/io/written_files.hpp"

namespace quench {

// Which folder lies under a name.
struct FolderIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FolderIdentity&) const = default;
};

// Files are written into temporary(), a hidden folder beside `path`; commit() gives it its name.
// Without that it is removed with all that is in it.
//
// No locks: where they are granted to everybody, as on some network file systems, a folder that
// relies on one is removed by another process while it is written. A temporary folder's name says
// which process writes it, on which machine, and the folder is touched while it is written. What
// killed processes left beside `path` is removed by the next one that writes there, if the process
// has ended on this machine, or if the folder was not touched for a day; the file server's clock
// alone decides that.
class NewFolder {
 public:
  enum class Existing { kRefused, kMayBeReplaced };

  // Throws Error: FAILED_PRECONDITION when there is something at `path` already and it is refused,
  // and as AtomicFile.
  explicit NewFolder(const std::filesystem::path& path, Existing existing = Existing::kRefused);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  // For the writers of files in temporary() to enter them in: a folder in which one of these is
  // missing or has another size is never given its name.
  WrittenFiles& files() { return files_; }

  // fsync of the folder, rename, fsync of its parent; files in it must be durable already. Throws
  // Error: FAILED_PRECONDITION when there is something at path() by now, DATA_LOSS when files() are
  // not as they were written.
  void commit();
  // As commit, but says false when there is something at path(); then nothing has happened.
  bool commit_if_absent();
  // Takes the place of `old` at path(), and removes it. There is a whole folder under the name at
  // any moment, but where the file system cannot exchange two names: there it has none for a
  // moment. False when something else than `old` is at path() by now; that stays. Throws as commit.
  bool replace(const FolderIdentity& old);

 private:
  void keep_alive();
  void stop();
  void check_whole() const;
  void sync_parent() const;
  bool exchange();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once it has its name
  WrittenFiles files_;
  int descriptor_ = -1;  // of the temporary folder
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;  // touches the temporary folder
};

// The folder under this name, links not followed; nothing when it is no folder.
std::optional<FolderIdentity> identity_of_folder(const std::filesystem::path& path);

// Removes the temporary folders in `parent` whose processes are known to have ended.
void remove_ended(const std::filesystem::path& parent);

// Whether `folder` is the temporary folder of a process that works on it no more, seen from
// `now_seconds` of the file system's clock.
bool is_abandoned(const std::filesystem::path& folder, int64_t now_seconds);

}  // namespace quench
