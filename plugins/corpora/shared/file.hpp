// A read-only file for corpora. Files are read, never mapped: if a mapped file shrinks, the process
// dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "quench/abi/status.h"

namespace quench::corpora {

// What an error number of the system says of a path: NOT_FOUND, or INVALID_ARGUMENT for what its
// user can mend; DATA_LOSS for want of memory or descriptors and for a disk that fails, which pass.
quench_status status_of_path(int number);

// What stands at a path, links followed. A look that fails by a fault that passes is not "nothing":
// throws DATA_LOSS.
bool exists_at(const std::string& path);
bool is_folder_at(const std::string& path);

// Owns a descriptor. Errors are kit::Error and start with the path.
class File {
 public:
  // Throws NOT_FOUND if there is no such file and INVALID_ARGUMENT for a folder.
  explicit File(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // in bytes, at the time of opening

  // Reads up to `bytes` bytes at `offset`; fewer only at the end of the file.
  size_t read(uint64_t offset, char* into, size_t bytes) const;
  // Reads exactly `bytes` bytes; throws DATA_LOSS if the file ends earlier.
  void read_exactly(uint64_t offset, char* into, size_t bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// A sequence of bytes from any origin.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Reads up to `bytes` bytes; returns 0 only at the end.
  virtual size_t read(char* into, size_t bytes) = 0;
};

// The bytes [from, to) of a file, which must outlive it. Throws DATA_LOSS if the file has become
// shorter.
class FileRange final : public ByteStream {
 public:
  FileRange(const File& file, uint64_t from, uint64_t to) : file_(file), at_(from), to_(to) {}
  size_t read(char* into, size_t bytes) override;

 private:
  const File& file_;
  uint64_t at_;
  uint64_t to_;
};

// SHA-256 over the bytes of the files in order, as 64 hex digits.
std::string sha256_of(const std::vector<std::string>& paths);
// The same with each file's size before its bytes, so that file boundaries count.
std::string sha256_of_each(const std::vector<std::string>& paths);

}  // namespace quench::corpora
