// A gzip file (RFC 1952) as a stream of its content.
#pragma once

#include <memory>
#include <vector>

#include "corpora/shared/file.hpp"

namespace quench::corpora {

// Whether the file starts with gzip's magic bytes, whatever its name says.
bool is_gzip(const File& file);

// Inflates all members, one after the other. A member that is cut off or fails its check sum, and
// bytes behind a member that start no further one, are DATA_LOSS: never fewer documents.
class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(const File& file);  // which must outlive it
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
  uint64_t read_ = 0;   // bytes of the file taken into input_ so far
  bool inside_ = true;  // a member has begun and not ended
};

}  // namespace quench::corpora
