// Memory that a child reads or writes as a file: no pipe to keep filled or empty while it runs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quench {

class MemoryFile {
 public:
  // Throws std::system_error, like write().
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }  // closed in a child that is not given it

  // Appends to what is there.
  void write(std::string_view text);
  // Lets a child that is given the descriptor read from the beginning.
  void rewind();
  // All of it, or its first `most` bytes.
  std::string text(size_t most = SIZE_MAX) const;

 private:
  int descriptor_;
};

}  // namespace quench
