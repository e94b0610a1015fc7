// SHA-256 of bytes and of files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace quench {

class File;

// Incremental hash; digests are 64 lower-case hexadecimal digits.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(const void* data, uint64_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // Adds a number as 8 bytes, least significant first.
  void update_number(uint64_t value);
  // Finishes the hash; the object cannot be used afterwards.
  std::string hex_digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

// The first 64 bits of the hash as a number: a checksum that is fast to compare.
uint64_t sha256_head(std::string_view bytes);

// The hash of a file's content. The process remembers it by device, inode, size and times, so each
// file is read once no matter how often a caller asks. Throws Error: DATA_LOSS if the file changes
// meanwhile, CANCELLED if `cancel` is set. [thread-safe]
std::string sha256_of(const File& file, const std::atomic<bool>* cancel = nullptr);

// The id under which git stores this content: SHA-1 of "blob <size>\0" and the content. The hub's
// cache names small files by it. Throws like sha256_of.
std::string git_blob_id(const File& file, const std::atomic<bool>* cancel = nullptr);
// The same for content in memory.
std::string git_blob_id(std::string_view content);

}  // namespace quench
