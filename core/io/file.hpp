// A regular file that is opened once and read by descriptor. Reading is by pread and never by a
// map: a mapped file that another process truncates kills the reader with SIGBUS, a short pread is
// an error with a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace quench {

// What tells one content of a file from another without reading it.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

class File {
 public:
  // Opens for reading. Throws Error: NOT_FOUND when there is none, INVALID_ARGUMENT when it is not
  // a regular file, FAILED_PRECONDITION when it cannot be opened.
  explicit File(std::filesystem::path path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const { return identity_.size; }
  const FileIdentity& identity() const { return identity_; }

  // Copies `bytes` bytes from `offset` on. Throws Error(DATA_LOSS) naming file and offset when the
  // range is not there, the device fails, or the file is not what it was when opened. [thread-safe]
  void read(uint64_t offset, void* destination, uint64_t bytes) const;

  // Like read, of as much as is there, and of a file that changes: returns how many bytes it were.
  // [thread-safe]
  uint64_t read_present(uint64_t offset, void* destination, uint64_t bytes) const;

  // Throws Error(DATA_LOSS) when size, time of modification or inode are not those of the opening;
  // links to the file may come and go. [thread-safe]
  void check_unchanged(uint64_t offset = 0) const;

 private:
  std::filesystem::path path_;
  int descriptor_;
  FileIdentity identity_;
};

// The whole content. Throws like File; INVALID_ARGUMENT when the file is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, uint64_t limit);

// The content that an append-only file had when it was opened. What its writer appends while it is
// read is no change, and what it takes back is left out. Throws like read_file.
std::string read_appended_file(const std::filesystem::path& path, uint64_t limit);

}  // namespace quench
