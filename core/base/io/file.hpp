// A regular file that is opened once and read through its descriptor. Reads use pread, never a map:
// if another process truncates a mapped file, the reader dies of SIGBUS, while a short pread is an
// error with a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace quench {

// Distinguishes two contents of a file without reading them.
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
  // Opens the file for reading. Throws Error: NOT_FOUND if it does not exist, INVALID_ARGUMENT if
  // it is not a regular file, FAILED_PRECONDITION if it cannot be opened, UNAVAILABLE if that may
  // pass (passing_fault.hpp).
  explicit File(std::filesystem::path path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const { return identity_.size; }
  const FileIdentity& identity() const { return identity_; }

  // Copies `bytes` bytes starting at `offset`. Throws Error naming file and offset: DATA_LOSS if
  // the file is shorter, cannot be read or changed since it was opened, UNAVAILABLE if the fault
  // may pass (passing_fault.hpp). [thread-safe]
  void read(uint64_t offset, void* destination, uint64_t bytes) const;

  // Like read, but stops at the end of the file and allows the file to change. Returns the number
  // of bytes that were read. [thread-safe]
  uint64_t read_present(uint64_t offset, void* destination, uint64_t bytes) const;

  // Throws Error(DATA_LOSS) if size, time of modification or inode differ from those at opening;
  // links to the file may be added and removed. [thread-safe]
  void check_unchanged(uint64_t offset = 0) const;

 private:
  std::filesystem::path path_;
  int descriptor_;
  FileIdentity identity_;
};

// Throws Error(NOT_FOUND) if the file is the pointer that stands for one that Git LFS keeps.
void refuse_lfs_pointer(const File& file);

// Reads the whole file. Throws like File; INVALID_ARGUMENT if the file exceeds `limit` bytes.
std::string read_file(const std::filesystem::path& path, uint64_t limit);

// Reads what an append-only file held when it was opened. Ignores what its writer appends during
// the read, and leaves out what the writer cuts off. Throws like read_file.
std::string read_appended_file(const std::filesystem::path& path, uint64_t limit);

}  // namespace quench
