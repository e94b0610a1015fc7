// Files that are there completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/io/sha256.hpp"
#include "core/io/written_files.hpp"

namespace quench {

// Writes to a temporary file in the folder of `path`; commit() makes it durable and gives it its
// name. Without commit() the temporary is removed and `path` keeps what it had. Every failure
// throws Error naming the path: RESOURCE_EXHAUSTED when the disk or a quota is full, else
// FAILED_PRECONDITION.
class AtomicFile {
 public:
  // `needed`: the bytes that will be written, 0 when not known; told to the user when they do not
  // fit. `list`: commit() enters the file there, hashed as it was written. An existing symbolic
  // link at `path` is replaced, never followed; a folder, a pipe or a device there is refused.
  explicit AtomicFile(std::filesystem::path path, uint64_t needed = 0,
                      WrittenFiles* list = nullptr);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  uint64_t written() const { return written_; }

  void write(const void* data, uint64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // fsync, close, rename, fsync of the folder.
  void commit();
  // As commit, but what has the name already stays, and false is returned. By link, which never
  // replaces; by rename where the file system has no links: then two writers at the same time leave
  // one of their files.
  bool commit_new();

 private:
  void finish_writing();
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  uint64_t needed_;
  uint64_t written_ = 0;
  WrittenFiles* list_;
  std::optional<Sha256> hash_;  // where there is a list
};

// Writes all bytes to an open descriptor, through interruptions and short writes. `path` is for the
// message, as are `already` (bytes written before) and `needed` (bytes of the whole, 0 unknown).
void write_all(int descriptor, const void* data, uint64_t bytes, const std::filesystem::path& path,
               uint64_t already = 0, uint64_t needed = 0);

// Throws Error(FAILED_PRECONDITION) where something has this name that is neither a file nor a
// link, which writing a file of the name would take away.
void refuse_special_file(const std::filesystem::path& path);

// An AtomicFile with this content.
void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           WrittenFiles* list = nullptr);

// Makes the folder and those above it, each durable in the one above. Throws Error naming the path.
void make_folders(const std::filesystem::path& folder);

// Makes the names in the folder of `path` durable. Throws Error naming the path.
void sync_folder_of(const std::filesystem::path& path);

}  // namespace quench
