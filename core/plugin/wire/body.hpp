// The body of a message: values one after the other, each in a multiple of 8 bytes, little-endian.
// docs/worker.md has the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "core/plugin/wire/memory.hpp"
#include "quench/abi/tensor.h"

namespace quench::wire {

inline constexpr uint64_t kMaxBody = uint64_t{16} << 20;
// Larger values lie in shared memory.
inline constexpr uint64_t kMaxInline = 1024;
inline constexpr uint64_t kNull = ~uint64_t{0};

class Writer {
 public:
  explicit Writer(OwnMemory& memory) : memory_(memory) {}

  void u64(uint64_t value);
  void i64(int64_t value) { u64(static_cast<uint64_t>(value)); }
  void f64(double value);
  // Copies to shared memory what is large, unless it lies there. `data` nullptr: NULL.
  void blob(const void* data, uint64_t bytes);
  void text(const char* text);  // NUL-terminated, or nullptr

  std::span<const std::byte> bytes() const { return body_; }
  OwnMemory& memory() { return memory_; }

 private:
  OwnMemory& memory_;
  std::vector<std::byte> body_;
};

struct Blob {
  const std::byte* data = nullptr;  // nullptr: NULL
  uint64_t bytes = 0;
};

// Reads what the other process wrote and believes nothing: what does not fit is an
// Error(DATA_LOSS). Values are copied out of the body; blobs in shared memory are not.
class Reader {
 public:
  // Both must outlive the reader; `memory` nullptr: nothing lies there.
  Reader(std::span<const std::byte> body, const TheirMemory* memory)
      : body_(body), memory_(memory) {}

  uint64_t u64();
  int64_t i64() { return static_cast<int64_t>(u64()); }
  uint32_t u32();
  int32_t i32();
  double f64();
  Blob blob();
  // Called before bytes of a blob are copied to this process's memory: throws where one message has
  // more of them than were ever written, for the shared memory is as large as it is sparse.
  void copies(const Blob& blob);
  // A count of values of which each takes 8 bytes at least.
  uint64_t count();
  // Throws where something is left.
  void finish() const;

 private:
  std::span<const std::byte> body_;
  const TheirMemory* memory_;
  uint64_t copied_ = 0;
};

// What decoded values lie in.
class Keep {
 public:
  Keep() = default;
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;

  // Zeroed, aligned to 64 bytes.
  void* take(uint64_t bytes);
  // A copy, aligned likewise, with a NUL behind it.
  void* copy_of(const void* data, uint64_t bytes);
  template <typename T>
  T* array(uint64_t count) {
    return static_cast<T*>(take(count * sizeof(T)));
  }
  // A copy with a NUL behind it; nullptr stays.
  const char* text(const Blob& blob);

 private:
  std::pmr::monotonic_buffer_resource resource_;
};

// ---- tensors ---------------------------------------------------------------------------------

uint64_t elements_of(const quench_tensor& tensor);
uint64_t bytes_of(const quench_tensor& tensor);

// The other process has every tensor in host memory: of one that lies on a device here, it gets a
// copy, and what it sends back is copied there (copy.hpp).
void put_shape(Writer& out, const quench_tensor* tensor);
// Shape and elements in C order, whatever the strides are. nullptr: NULL.
void put_tensor(Writer& out, const quench_tensor* tensor);
// nullptr where it is NULL. The view's shape lies in `keep`, and its elements too where they are
// few.
quench_tensor* take_shape(Reader& in, Keep& keep);
quench_tensor* take_tensor(Reader& in, Keep& keep);
// Copies elements in C order to a tensor of any strides; DATA_LOSS where their number differs.
void copy_out(const Blob& elements, const quench_tensor& to);

}  // namespace quench::wire
