#pragma once

#include <cstdint>

namespace quench::matrix {

// Scratch memory, aligned to a cache line, of undefined content. Blocks are kept for later ones of
// this plugin: memory that goes back to the system costs its page faults each time, which is more
// than the product of small matrices.
class Buffer {
 public:
  explicit Buffer(int64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  int64_t bytes_;
};

}  // namespace quench::matrix
