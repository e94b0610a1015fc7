// Identifies a set of weights independently of the files that hold it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/io/sha256.hpp"

namespace quench {

class TensorSource;
struct TensorInfo;

// SHA-256 over name, element type, shape and content of every tensor, sorted by name. It does not
// depend on container, sharding, order in the file or shared storage, so the same weights in a .bin
// and in shards have the same hash. Reads every byte. Throws like TensorSource::read, and
// Error(CANCELLED) if `cancel` is set meanwhile.
std::string content_hash(const TensorSource& source, const std::atomic<bool>* cancel = nullptr);

// The same hash for callers that read the tensors themselves.
class ContentHash {
 public:
  explicit ContentHash(uint64_t tensors);
  // Begins the next tensor in the order of names; its content follows in pieces of any size.
  void tensor(const TensorInfo& info);
  void content(const void* data, uint64_t bytes) { hash_.update(data, bytes); }
  // Finishes the hash.
  std::string hex_digest() { return hash_.hex_digest(); }

 private:
  Sha256 hash_;
};

}  // namespace quench
