// The content of a gzip file (RFC 1952) as a stream.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "corpora/shared/file.hpp"

namespace quench::corpora {

// The program that unpacks the file, "gzip", "zstd", "xz" or "bzip2", by its first bytes, whatever
// its name; "" where it is not compressed.
std::string_view compressor_of(const File& file);
// Throws INVALID_ARGUMENT with the command that unpacks it.
[[noreturn]] void refuse_compressed(const File& file, std::string_view compressor,
                                    const char* wanted);

// Inflates all members in order. Throws DATA_LOSS for a member that is cut off or fails its
// checksum, and for bytes after a member that start no other, so that documents are never lost
// silently.
class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(const File& file);  // the file must outlive it
  ~GzipStream() override;
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  size_t read(char* into, size_t bytes) override;

 private:
  struct Inflater;
  void fill();
  void next_member();
  unsigned long long position() const;

  const File& file_;
  std::unique_ptr<Inflater> inflater_;
  std::vector<char> input_;
  uint64_t read_ = 0;   // bytes of the file read into input_ so far
  bool inside_ = true;  // a member has begun and has not ended
};

}  // namespace quench::corpora
