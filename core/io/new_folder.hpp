// A folder that is there completely or not at all.
#pragma once

#include <filesystem>

namespace quench {

// Files are written into temporary(), a hidden folder beside `path`; commit() gives it its name.
// Without commit() it is removed with all that is in it. A folder that a killed process left is
// removed when the same path is written again: its lock tells that nobody is at it any more.
class NewFolder {
 public:
  // Throws Error: FAILED_PRECONDITION when there is something at `path` already, and as AtomicFile.
  explicit NewFolder(const std::filesystem::path& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  // fsync of the folder, rename, fsync of its parent; files in it must be durable already. Throws
  // Error(FAILED_PRECONDITION) when there is something at path() by now.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;  // of the temporary folder, with its lock
};

}  // namespace quench
