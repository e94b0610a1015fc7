#pragma once

#include <cstdint>

namespace quench::matrix {

// Uninitialized scratch memory, aligned to a cache line. Freed blocks are kept for later buffers of
// this plugin: memory that is returned to the system causes page faults each time, which cost more
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
