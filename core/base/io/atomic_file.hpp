// Files that appear completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/io/sha256.hpp"

namespace quench {

// Records which files were written into a folder, hashed from the bytes as they were written.
struct WrittenFile {
  uint64_t bytes = 0;
  std::string sha256;
};

// By the file's name in its folder.
using WrittenFiles = std::map<std::string, WrittenFile>;

// Writes to a temporary file in the folder of `path`, or beside another path of that file system;
// commit() makes it durable and gives it its name. Without commit() the destructor removes the
// temporary file and `path` keeps its old content. Every failure throws Error naming the path:
// RESOURCE_EXHAUSTED if the disk or a quota is full, else FAILED_PRECONDITION.
class AtomicFile {
 public:
  // `needed`: how many bytes will be written, 0 if unknown; the error names it if they do not fit.
  // `list`: commit() enters the file there with the hash of the written bytes. Replaces a symbolic
  // link at `path` and never follows it; refuses to replace a folder, a pipe or a device.
  // `beside`: where the temporary lies; empty: beside `path`.
  explicit AtomicFile(std::filesystem::path path, uint64_t needed = 0, WrittenFiles* list = nullptr,
                      const std::filesystem::path& beside = {});
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  uint64_t written() const { return written_; }

  void write(const void* data, uint64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Runs fsync, close, rename, and fsync of the folder.
  void commit();
  // Like commit, but keeps an existing file of this name and then returns false. Publishes by link,
  // which never replaces a file; by rename where the file system has no links, and then one of two
  // concurrent writers loses its file.
  bool commit_new();

 private:
  void finish_writing();
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  uint64_t needed_;
  uint64_t written_ = 0;
  WrittenFiles* list_;
  std::optional<Sha256> hash_;  // set if there is a list
};

// Writes all bytes to an open descriptor and resumes after interruptions and short writes. The
// message shows `path`, `already` (bytes written before) and `needed` (total bytes, 0 if unknown).
void write_all(int descriptor, const void* data, uint64_t bytes, const std::filesystem::path& path,
               uint64_t already = 0, uint64_t needed = 0);

// Throws Error(FAILED_PRECONDITION) if `path` exists and is neither a file nor a link, because
// writing a file of this name would remove it.
void refuse_special_file(const std::filesystem::path& path);

// Writes this content through an AtomicFile.
void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           WrittenFiles* list = nullptr);

// Makes the folder and its parents, each durable in its parent. Throws Error naming the path.
void make_folders(const std::filesystem::path& folder);

// Makes the entries of the folder of `path` durable. Throws Error naming the path.
void sync_folder_of(const std::filesystem::path& path);

}  // namespace quench
