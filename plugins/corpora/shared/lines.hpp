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
  // Takes lines of at most `limit` bytes without their line break.
  LineReader(std::unique_ptr<ByteStream> stream, uint64_t limit);

  enum class Outcome { kLine, kTooLong, kEndless, kEnd };
  // Puts the next line into `line`, without "\n" or "\r\n". A line past the limit is reported as
  // kTooLong, and its rest is read over by the next call; where that rest has more than 256 MiB,
  // it is kEndless, then and for ever: a few megabytes of gzip can hold a line of
  // gigabytes. A last line needs no line break.
  Outcome next(std::string& line);

  uint64_t number() const { return number_; }  // of the line last read, from 1
  uint64_t offset() const { return offset_; }  // of its first byte in the stream

 private:
  bool fill();
  // Reads over what is left of a line that was too long; false when it does not end.
  bool read_over();

  std::unique_ptr<ByteStream> stream_;
  uint64_t limit_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t number_ = 0;
  uint64_t offset_ = 0;
  uint64_t next_offset_ = 0;
  bool inside_ = false;  // of a line that was too long
};

}  // namespace quench::corpora
