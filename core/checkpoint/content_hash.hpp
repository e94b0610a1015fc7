// What a set of weights is, whatever holds it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/io/sha256.hpp"

namespace quench {

class TensorSource;
struct TensorInfo;

// SHA-256 over name, element type, shape and content of every tensor in the order of names. It does
// not depend on container, sharding, order in the file or sharing of storage, so the same weights
// in a .bin and in shards have one hash. Reads every byte. Throws like TensorSource::read, and
// Error(CANCELLED) when `cancel` is set meanwhile.
std::string content_hash(const TensorSource& source, const std::atomic<bool>* cancel = nullptr);

// The same, for who reads the tensors anyway.
class ContentHash {
 public:
  explicit ContentHash(uint64_t tensors);
  // The next tensor in the order of names; its content follows in pieces of any size.
  void tensor(const TensorInfo& info);
  void content(const void* data, uint64_t bytes) { hash_.update(data, bytes); }
  // Ends the computation.
  std::string hex_digest() { return hash_.hex_digest(); }

 private:
  Sha256 hash_;
};

}  // namespace quench
