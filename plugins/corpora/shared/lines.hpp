// Lines of a byte stream, in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "corpora/shared/file.hpp"

namespace quench::corpora {

class LineReader {
 public:
  // Reads lines of at most `limit` bytes, not counting the line break.
  LineReader(std::unique_ptr<ByteStream> stream, uint64_t limit);

  enum class Outcome { kLine, kTooLong, kEndless, kEnd };
  // Stores the next line in `line`, without "
  // " or "\r
  // ". A line over the limit gives kTooLong, and the next call skips its rest. If that rest exceeds
  // 256 MiB, this and all later calls give kEndless, because a few megabytes of gzip can hold a
  // line of gigabytes. The last line needs no line break.
  Outcome next(std::string& line);

  uint64_t number() const { return number_; }  // of the last line, from 1
  uint64_t offset() const { return offset_; }  // of its first byte in the stream

 private:
  bool fill();
  // Skips the rest of a line that was too long; false if it does not end.
  bool read_over();

  std::unique_ptr<ByteStream> stream_;
  uint64_t limit_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t number_ = 0;
  uint64_t offset_ = 0;
  uint64_t next_offset_ = 0;
  bool inside_ = false;  // inside a line that was too long
};

}  // namespace quench::corpora
