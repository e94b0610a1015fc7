// A read-only file for corpora. Files are read, never mapped: a map of a file that shrinks kills
// the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quench::corpora {

// Owns a descriptor. Errors are kit::Error and start with the path.
class File {
 public:
  // NOT_FOUND when there is no such file; INVALID_ARGUMENT for a folder.
  explicit File(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // in bytes, when it was opened

  // Up to `bytes` bytes at `offset`; fewer only at the end of the file.
  size_t read(uint64_t offset, char* into, size_t bytes) const;
  // Exactly `bytes` bytes; DATA_LOSS when the file ends before.
  void read_exactly(uint64_t offset, char* into, size_t bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// Bytes in order, from wherever they come.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to `bytes` bytes; 0 at the end only.
  virtual size_t read(char* into, size_t bytes) = 0;
};

// The bytes [from, to) of a file, which must outlive it. DATA_LOSS when the file has become
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

// SHA-256 over the bytes of the files, one after the other, as 64 hex digits.
std::string sha256_of(const std::vector<std::string>& paths);
// The same, with the size of each file in front of it, so that it tells where one ends.
std::string sha256_of_each(const std::vector<std::string>& paths);

}  // namespace quench::corpora
