// A file of known size, read at any place.
#pragma once

#include <cstdint>
#include <string>

namespace quench::gguf {

class Bytes {
 public:
  virtual ~Bytes() = default;
  // For messages.
  virtual const std::string& name() const = 0;
  virtual uint64_t size() const = 0;
  // Copies the bytes [offset, offset + count), which lie inside the file. Thread-safe. Throws
  // kit::Error when they cannot be read.
  virtual void read(uint64_t offset, uint64_t count, void* destination) const = 0;
};

}  // namespace quench::gguf
