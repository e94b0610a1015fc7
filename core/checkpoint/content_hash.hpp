// Identifies a set of weights independently of the files that hold it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/io/sha256.hpp"

namespace quench {

class TensorSource;
struct TensorInfo;

// What a set of weights is.
struct TensorHashes {
  // SHA-256 over name, element type, shape and content of every tensor, sorted by name. It does not
  // depend on container, sharding, order in the file or shared storage, so the same weights in a
  // .bin and in shards have the same hash.
  std::string content;
  // Of the same bytes, a checksum (sha256_head, 16 hexadecimal digits) of all names, types and
  // shapes, and one of each block of each tensor, in the order of names: what a reader compares
  // with (held_source.hpp).
  std::string blocks;
};

// Elements of a block; the last one of a tensor may have fewer.
inline constexpr uint64_t kHashBlock = uint64_t{1} << 17;

// Both, from one reading of every byte. Throws like TensorSource::read, and Error(CANCELLED) if
// `cancel` is set meanwhile.
TensorHashes hash_tensors(const TensorSource& source, const std::atomic<bool>* cancel = nullptr);
std::string content_hash(const TensorSource& source, const std::atomic<bool>* cancel = nullptr);

// The indices of the tensors in the order of their names.
std::vector<uint64_t> name_order(const TensorSource& source);

// The first checksum in TensorHashes::blocks.
uint64_t header_checksum(const TensorSource& source);

// The content hash for callers that read the tensors themselves.
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
